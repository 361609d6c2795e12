"""Operators on videos, one per file, and what they share."""
