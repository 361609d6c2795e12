"""A first look at files without a recipe: what they are, what is in them, and a recipe that reads them."""
