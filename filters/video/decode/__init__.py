"""Opens hostile videos under limits, and turns them into facts and signals in one pass."""
