"""Operators that look at videos, one a file, and what they share."""
