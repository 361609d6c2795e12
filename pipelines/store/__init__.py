"""The store: immutable objects named by content, commits that are put once, and generations that list them all."""
