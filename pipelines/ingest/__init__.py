"""Ingest: turns archives, tables and folders into rows, and accounts for every byte that became none."""
