"""Scores of samples: weights that point, weights that look, what they say of each row, and whom that keeps."""
