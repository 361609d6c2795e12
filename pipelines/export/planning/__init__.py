"""Prepares an export before bytes are moved: its shards, their sizes, and what would prevent it."""
