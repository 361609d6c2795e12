"""`winnow score`: score samples against reference weights, and decide which to keep."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument, slice_argument
from winnow.runners.stages.opening import begin, ready_recipe, run_stage


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    slice_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Score every shard, or a slice of them."""
    console = begin("score", options.recipe)
    from winnow.runners.facts.store import print_layers
    from winnow.runners.stages.scoring import score, score_slice

    recipe = ready_recipe(console, options.recipe, "score")
    return run_stage(recipe, options, console, score, print_layers, score_slice)


COMMAND = Command(
    "score samples against reference weights, and decide which to keep", arguments, run, place=8, beam=True
)
