"""The same rules by other code: the peers' own, run under their Pythons, and slow restatements of published ones."""
