"""Annotate: row-wise measurements of what ingest left, each operator's as one layer of the store."""
