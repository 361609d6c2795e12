"""`winnow dedupe`: find exact and near duplicates."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument
from winnow.runners.stages.opening import begin, open_engine, ready_recipe
from winnow.schemas.errors import WinnowError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Search the whole store for duplicates."""
    console = begin("dedupe", options.recipe)
    from winnow.runners.facts.store import print_layers
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.rule_decisions import decisions_if_any
    from winnow.runners.stages.store_stages import dedupe

    recipe = ready_recipe(options.recipe, "dedupe")
    if recipe.config.dedupe is None:
        raise WinnowError(
            f"{options.recipe}: no 'dedupe' in the recipe; add for example 'dedupe: {{exact: {{}}, near: {{}}}}'"
        )
    engine = open_engine(options)
    outcome = dedupe(recipe, engine, console)
    if outcome.new:
        decisions_if_any(recipe, outcome.store, outcome.generation, engine, console)  # kept for commands that read
    print_layers(summarise(outcome.store, outcome.generation, recipe, engine, console), console)
    return 0


COMMAND = Command("find exact and near duplicates", arguments, run, place=6, beam=True)
