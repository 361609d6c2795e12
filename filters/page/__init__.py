"""Operators on a response's headers and elements, one per file."""
