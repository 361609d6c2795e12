"""Preflight: what is checked of a recipe, its store and its sources before a command does its work."""
