"""Models that are trained here, reproducibly: the same texts and settings give the same bytes."""
