"""`winnow run`: run all stages of a recipe, then write the report."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, notes_argument, recipe_argument
from winnow.runners.stages.opening import begin, bound_recipe, open_engine


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    engine_arguments(parser)
    parser.add_argument(
        "--replace",
        action="store_true",
        help="ingest changed source files again, replacing their old records, and replace exports of other plans",
    )
    parser.add_argument(
        "--sample",
        default="100%",
        metavar="SHARE",
        help="draw and export only this share of the mixture, such as 1%% (default: all); every stage before is whole",
    )
    notes_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the recipe, and print where the results are."""
    console = begin("run", options.recipe)
    from winnow.runners.stages.mixing import parse_sample
    from winnow.runners.stages.recipe_run import run_recipe
    from winnow.runners.stages.run_summary import print_run_summary

    sample = parse_sample(options.sample)
    recipe = bound_recipe(options.recipe)
    engine = open_engine(options)
    whole = run_recipe(recipe, engine, console, replace=options.replace, all_notes=options.notes, sample=sample)
    print_run_summary(recipe, whole, engine, console)
    return 0


COMMAND = Command("run all stages of the recipe, then write the report", arguments, run, place=3, beam=True)
