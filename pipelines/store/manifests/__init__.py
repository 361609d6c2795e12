"""Manifests: the tables of what a generation holds, kept as columns while a command works."""
