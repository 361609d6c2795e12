"""Trains the model that finds a page's main content, and measures it on pages that it has not seen."""
