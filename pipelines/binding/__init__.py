"""Binding: a recipe, read once by a command, becomes operators, rules, scores and mixtures that are ready to run."""
