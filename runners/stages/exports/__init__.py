"""Exports of a recipe: written, finished with their cards, and verified."""
