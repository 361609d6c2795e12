"""Duplicates over a whole store: groups of equal digests, and clusters of verified near duplicates."""
