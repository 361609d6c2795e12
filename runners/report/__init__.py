"""Draws pages and cards, each one self-contained file. Crawled markup is always escaped."""
