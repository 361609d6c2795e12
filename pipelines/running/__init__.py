"""Running: how tasks reach workers, how workers behave, and how blocks travel between them."""
