"""The commands that fit laws and train models, which recipes then use."""
