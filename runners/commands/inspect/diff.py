"""`winnow diff A B`: what two recipes keep, by source and language, why they differ, and which samples change sides."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments
from winnow.runners.stages.opening import open_console, open_engine

SHOWN = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("old", metavar="A", help="a recipe file whose store exists")
    parser.add_argument("new", metavar="B", help="another one, over the same store or one with the same samples")
    parser.add_argument(
        "--ids", metavar="FILE", help="write one row per sample that changes sides to this Parquet file"
    )
    parser.add_argument(
        "--samples", type=int, default=SHOWN, metavar="N", help="samples to list on each side (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compare two recipes."""
    from winnow.runners.stages.reports.recipe_difference import show_difference

    ids = None if options.ids is None else Path(options.ids)
    engine = open_engine(options)
    show_difference(
        options.old, options.new, engine, open_console(), ids=ids, shown=options.samples, as_json=options.json
    )
    return 0


COMMAND = Command(
    "compare what two recipes keep, and list the samples that change sides; changes nothing",
    arguments,
    run,
    place=3,
    slow_start=True,
)
