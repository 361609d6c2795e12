"""Binding: turns a recipe into operators, rules, scores and mixtures that are ready to run, once per command."""
