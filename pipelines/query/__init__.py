"""Finds and shows samples: single rows, clusters, previews, and statistics of layers."""
