"""`winnow dedupe`: find exact and near duplicates."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument
from winnow.runners.stages.opening import begin, ready_recipe, run_stage
from winnow.schemas.errors import WinnowError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Search the whole store for duplicates."""
    console = begin("dedupe", options.recipe)
    from winnow.runners.facts.store import print_layers
    from winnow.runners.stages.store_stages import dedupe

    recipe = ready_recipe(console, options.recipe, "dedupe")
    if recipe.config.dedupe is None:
        raise WinnowError(
            f"{options.recipe}: no 'dedupe' in the recipe; add for example 'dedupe: {{exact: {{}}, near: {{}}}}'"
        )
    return run_stage(recipe, options, console, dedupe, print_layers)


COMMAND = Command("find exact and near duplicates", arguments, run, place=7, beam=True)
