"""Operators on the captions of pictures and other media, one per file."""
