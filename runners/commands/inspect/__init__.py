"""The commands that look at a store and change nothing."""
