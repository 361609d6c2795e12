"""Matching the parts of one small plane with those of another."""
