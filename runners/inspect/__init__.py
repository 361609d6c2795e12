"""The inspector: a local page on which a store is understood, its rules are tried and its samples are read."""
