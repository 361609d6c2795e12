"""Fetch: index queries and lists of addresses become WARC files and a log, in which each address has one decision."""
