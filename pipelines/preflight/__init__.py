"""Preflight: what is checked of a recipe, its sources and its exports before a command does its work.

    notes = preflight(WholeRecipe(recipe=recipe, last="annotate"))  # raises an error for what is known to fail

A check is one object in a module of `checks/`, found by its folder. `winnow plan` makes all of them, a command those
that need what it is about to use: the recipe, its operators, its scores, new input, or folders of exports.
"""
