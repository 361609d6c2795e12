"""Measurements of addresses, one operator a file."""
