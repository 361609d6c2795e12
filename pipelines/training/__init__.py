"""Where texts to train on come from: files of texts, or rows of a store that a rule names."""
