"""Language identification: scripts counted from letters, and models."""
