"""Evaluation sets and the search for them in texts: what sets have, an index of their n-grams, and what is found."""
