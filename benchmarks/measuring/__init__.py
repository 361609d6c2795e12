"""What benchmarks share: how they count, run peers in environments of their own, and report."""
