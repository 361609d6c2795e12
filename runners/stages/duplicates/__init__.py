"""`winnow duplicates`: clusters of duplicates, and two texts side by side."""
