"""Makes the model by which languages are identified, from texts in packages."""
