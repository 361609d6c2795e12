"""`winnow plan`: the tasks, an estimate, what the rules decide, and the recipe with every default."""

import argparse
import os

from winnow.runners.commands.command import Command
from winnow.runners.commands.core.mix import run_diff
from winnow.runners.stages.opening import bound_recipe, open_console
from winnow.schemas.errors import WinnowError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", metavar="RECIPE", nargs="?", help="a recipe file")
    parser.add_argument("--diff", nargs=2, metavar=("OLD", "NEW"), help="compare two mixture plans instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--resolved", action="store_true", help="show first the recipe with every default and preset")
    length.add_argument("--brief", action="store_true", help="do not show the resolved recipe (the default)")
    parser.add_argument("--rates", metavar="FILE", help="use the rates in this file instead of the built-in ones")
    parser.add_argument("--workers", metavar="N", help="estimate the time for N workers (default: one per core)")
    parser.add_argument("--decisions", metavar="FILE", help="write one row per dropped sample to this Parquet file")


def run(options: argparse.Namespace) -> int:
    """Show the plan of a recipe, or compare two plans of mixtures."""
    if (options.recipe is None) == (options.diff is None):
        raise WinnowError("winnow plan: expected a recipe, or --diff OLD NEW")
    if options.diff is not None:
        return run_diff(options)
    from winnow.runners.engines.names import parse_workers
    from winnow.runners.stages.planning import show_plan

    show_plan(
        bound_recipe(options.recipe),
        open_console(),
        as_json=options.json,
        resolved=options.resolved,
        decisions=options.decisions,
        rates=options.rates,
        workers=parse_workers(options.workers) or os.cpu_count() or 1,
    )
    return 0


COMMAND = Command(
    "show what a run would do, what it would cost, and what the rules drop; changes nothing",
    arguments,
    run,
    place=2,
    slow_start=True,
)
