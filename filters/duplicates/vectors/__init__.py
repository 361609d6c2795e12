"""Vectors of pictures and texts: cells of close ones, exact cosines, and lists of named vectors."""
