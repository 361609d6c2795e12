"""Rules over a store: a recipe's decisions, spelt out, checked, and counted without changing anything."""
