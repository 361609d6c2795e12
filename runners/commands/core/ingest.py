"""`winnow ingest`: read the sources into the store, and extract their text."""

import argparse
from functools import partial

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument, slice_argument
from winnow.runners.stages.opening import begin, ready_recipe, run_stage


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    parser.add_argument(
        "--replace", action="store_true", help="ingest changed source files again and replace their old records"
    )
    slice_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Ingest all of the sources, or a slice of their tasks."""
    console = begin("ingest", options.recipe)
    from winnow.runners.facts.store import print_summary
    from winnow.runners.stages.slices import ingest_slice
    from winnow.runners.stages.store_stages import ingest

    recipe = ready_recipe(console, options.recipe, "ingest")
    whole = partial(ingest, replace=options.replace)
    of_slice = partial(ingest_slice, replace_files=options.replace)
    return run_stage(recipe, options, console, whole, print_summary, of_slice)


COMMAND = Command("read the sources into the store, and extract their text", arguments, run, place=5, beam=True)
