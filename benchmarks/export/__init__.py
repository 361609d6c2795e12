"""Exports beside peers that write the same samples: `python -m benchmarks.export`."""
