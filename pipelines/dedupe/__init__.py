"""Finds duplicates across a store: groups of equal digests, and clusters of verified near duplicates."""
