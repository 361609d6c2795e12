"""Decoding of untrusted image files, and what their containers say before any pixel is decoded."""
