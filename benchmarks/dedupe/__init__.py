"""Near duplicates end to end beside peers: `python -m benchmarks.dedupe`."""
