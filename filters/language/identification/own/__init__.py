"""winnow's own model of languages: hashed n-grams of characters, one layer, and how sure it is."""
