"""Measurements of what a response says beside its text, one operator a file."""
