"""How probable texts are, by n-gram models and lists of words."""
