"""`winnow contamination`: which items of evaluation sets the samples of a store contain."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console, open_place

LIMIT = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe with text.contamination")
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="N",
        help="how many items of each set to list (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, with every item that is found")


def run(options: argparse.Namespace) -> int:
    """Print the sets and their items."""
    from winnow.runners.stages.reports.contamination import run_contamination

    return run_contamination(*open_place(options.recipe), open_console(), limit=options.limit, as_json=options.json)


COMMAND = Command(
    "show which items of evaluation sets the samples contain",
    arguments,
    run,
    place=10,
    slow_start=True,
    epilog="Samples count before rules drop them. An item is found from the first n-gram on, and whole from 80 % "
    "of its n-grams.",
)
