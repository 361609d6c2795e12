"""`winnow run`: run all stages of a recipe, then write the report."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import bound_recipe, open_console, open_engine
from winnow.runners.commands.parser import engine_arguments, recipe_argument

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("run", help="run all stages of the recipe, then write the report")
    recipe_argument(parser)
    engine_arguments(parser)
    parser.add_argument(
        "--replace", action="store_true", help="ingest changed source files again and replace their old records"
    )


def run(options: argparse.Namespace) -> int:
    """Run the recipe, and print where the results are."""
    from winnow.runners.stages.whole_recipe import run_whole
    from winnow.runners.terminal.closing import print_closing

    console = open_console()
    recipe = bound_recipe(options.recipe)
    print_closing(recipe, run_whole(recipe, open_engine(options), console, replace=options.replace), console)
    return 0
