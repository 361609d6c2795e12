"""Embeddings of texts and texts of close meaning: how fast, in how much memory, and how well."""
