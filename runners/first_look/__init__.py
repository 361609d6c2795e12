"""A first look at files without a recipe: their kinds, their content, and a recipe that reads them."""
