"""Measurements of text and of the pages it comes from."""
