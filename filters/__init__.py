"""Measurements: plain functions over Arrow data, one operator a file. Knows no Beam and no paths."""
