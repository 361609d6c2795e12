"""Applies a recipe's rules to a store: decides each row and counts the decisions, without changing anything."""
