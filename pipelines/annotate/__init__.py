"""Annotate: row-wise measurements of samples; each operator writes one layer of the store."""
