"""Recipes that ship with winnow."""
