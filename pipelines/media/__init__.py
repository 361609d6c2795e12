"""Media: resolves references in rows to the bytes that they refer to."""
