"""Operators that look at frames of videos with the kernels of operators on pictures."""
