"""`winnow run`: every stage that a recipe asks for, then the report."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import bound_recipe, open_console, open_engine
from winnow.runners.commands.parser import engine_arguments, recipe_argument

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser("run", help="run every stage that the recipe asks for, then write the report")
    recipe_argument(parser)
    engine_arguments(parser)
    parser.add_argument("--replace", action="store_true", help="ingest changed source files again, in place of the old")


def run(options: argparse.Namespace) -> int:
    """Run the recipe, and show what it left."""
    from winnow.runners.stages.whole_recipe import run_whole
    from winnow.runners.terminal.closing import print_closing

    console = open_console()
    recipe = bound_recipe(options.recipe)
    print_closing(recipe, run_whole(recipe, open_engine(options), console, replace=options.replace), console)
    return 0
