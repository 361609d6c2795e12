"""Operators on text, one per file."""
