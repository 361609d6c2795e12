"""The store: immutable objects named by content, commits that are put once, and generations that name them all."""
