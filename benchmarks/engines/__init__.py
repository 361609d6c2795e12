"""What engines cost: `python -m benchmarks.engines`."""
