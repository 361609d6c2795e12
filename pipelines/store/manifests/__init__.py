"""Manifests: the tables that list a generation's content, kept as columns while a command works."""
