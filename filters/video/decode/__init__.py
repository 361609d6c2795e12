"""Opens untrusted videos under limits, and reads their facts and signals in one pass."""
