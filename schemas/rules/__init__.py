"""Rules: the conditions that recipes write, what bounds them, and the numbers that they compare with."""
