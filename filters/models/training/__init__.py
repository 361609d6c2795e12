"""Reproducible training of models: the same texts and settings give the same bytes."""
