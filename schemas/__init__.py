"""Data definitions: rows, layers, recipes, records and statistics. Knows no Beam, no paths, no models."""
