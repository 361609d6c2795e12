"""`winnow forget`: hide rows from every plan at once."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console, open_place
from winnow.runners.commands.parser import place_argument

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser(
        "forget",
        help="hide rows from every plan at once; 'gc --purge' then takes their content away",
        epilog="Exit status: 0 recorded; 3 recorded, but no row of the store is meant by it yet; 1 something could "
        "not be understood, and the rest is recorded.",
    )
    place_argument(parser)
    for kind, name, text in (
        ("url", "URL", "the rows of this address"),
        ("domain", "HOST", "the rows of this host and of all hosts below it"),
        ("id", "ID", "the sample with this id"),
        ("sha256", "HEX", "the rows whose text, in UTF-8, or whose media have this SHA-256"),
    ):
        parser.add_argument(f"--{kind}", action="append", default=[], metavar=name, help=text)
    parser.add_argument(
        "--file", action="append", default=[], metavar="LIST", help="a list with one selector a line: 'domain HOST'"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="kept in the tombstone as it is written here")
    parser.add_argument("--dry-run", action="store_true", help="say what would be hidden; record nothing")
    parser.add_argument("--list", action="store_true", help="show what was asked for, and how much is purged")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Record what to forget; 3 when nothing in the store matches it."""
    from winnow.runners.stages.forgetting import run_forget

    return run_forget(options, open_place(options.place)[1], open_console())
