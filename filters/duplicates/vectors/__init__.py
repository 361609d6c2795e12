"""Vectors of pictures and texts: cells of close ones, cosines in whole numbers, and lists of named vectors."""
