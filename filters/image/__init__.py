"""Operators on pictures, one per file, and what they share."""
