"""Scores samples: trains or loads weights, traces each row's losses and scores, and filters rows by their scores."""
