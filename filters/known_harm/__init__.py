"""Users' lists of hashes of known harmful media; winnow ships none."""
