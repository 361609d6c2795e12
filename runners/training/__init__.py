"""`winnow train-quality`: a classifier of texts that are wanted, trained on what its user names."""
