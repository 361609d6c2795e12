"""Operators on frames of videos that use the kernels of operators on pictures."""
