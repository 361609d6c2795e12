"""Which rows tombstones hide, and the redacted rows that are read in their place."""
