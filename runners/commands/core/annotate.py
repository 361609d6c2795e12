"""`winnow annotate`: measure the ingested samples with the recipe's operators."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument, slice_argument
from winnow.runners.stages.opening import begin, ready_recipe, run_stage
from winnow.schemas.errors import WinnowError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    slice_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Measure every shard, or a slice of them."""
    console = begin("annotate", options.recipe)
    from winnow.runners.facts.store import print_layers
    from winnow.runners.stages.slices import annotate_slice
    from winnow.runners.stages.store_stages import annotate

    recipe = ready_recipe(console, options.recipe, "annotate")
    if not recipe.config.annotate:
        raise WinnowError(
            f"{options.recipe}: nothing to annotate; list operators under 'annotate' (see winnow operators)"
        )
    return run_stage(recipe, options, console, annotate, print_layers, annotate_slice)


COMMAND = Command("measure the ingested samples with the recipe's operators", arguments, run, place=6, beam=True)
