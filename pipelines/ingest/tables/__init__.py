"""Readers of tables: JSON lines and Parquet, and the mapping of their columns to samples."""
