"""Readers of archives: WARC, WET and ARC, plain or compressed, and the HTTP responses in them."""
