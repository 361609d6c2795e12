"""Near-duplicate detection: normal forms, shingles, signatures, candidates and clusters."""
