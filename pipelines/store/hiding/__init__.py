"""Which rows tombstones hide, and the neutral rows that are read in their place."""
