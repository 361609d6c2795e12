"""`winnow robots`: the robots.txt and tdmrep.json files that a store holds, as one file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console, open_place
from winnow.runners.commands.parser import place_argument

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser(
        "robots", help="the robots.txt and tdmrep.json that a store holds, as a file for the operator url.robots"
    )
    place_argument(parser)
    parser.add_argument("--output", required=True, metavar="FILE", help="JSON lines; gzip where it ends with .gz")


def run(options: argparse.Namespace) -> int:
    """Write the files; 3 when the store holds none."""
    from winnow.runners.stages.robots_files import write_kept_files

    return write_kept_files(*open_place(options.place), Path(options.output), open_console())
