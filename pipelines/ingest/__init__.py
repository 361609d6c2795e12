"""Ingest: from archives, tables and folders to rows, and every byte that became none, with the reason."""
