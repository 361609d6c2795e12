"""Who represents each cluster of duplicates: how that is chosen, among which rows, and which rows it replaces."""
