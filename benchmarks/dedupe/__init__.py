"""Near duplicates: end to end beside peers (`python -m benchmarks.dedupe`), and each part of the search alone."""
