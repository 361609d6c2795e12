"""Operators on text, one a file."""
