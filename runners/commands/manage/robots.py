"""`winnow robots`: write a store's robots.txt and tdmrep.json files as one file."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument
from winnow.runners.stages.opening import open_console, open_place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument(
        "--output", required=True, metavar="FILE", help="JSON Lines file to write; compressed if the name ends in .gz"
    )


def run(options: argparse.Namespace) -> int:
    """Write the file; the exit status is 3 if the store has no such files."""
    from winnow.runners.stages.robots_files import write_kept_files

    return write_kept_files(*open_place(options.place), Path(options.output), open_console())


COMMAND = Command(
    "write the store's robots.txt and tdmrep.json files to one file, for the operator url.robots",
    arguments,
    run,
    place=3,
)
