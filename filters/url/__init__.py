"""Operators on URLs, one per file."""
