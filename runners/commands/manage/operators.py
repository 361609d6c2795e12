"""`winnow operators`: list the operators, the columns they read and write, and their settings."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("operators", help="list the operators, their columns and settings")
    parser.add_argument("names", nargs="*", metavar="NAME", help="show these operators or presets in full")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """List operators, or describe some."""
    from winnow.runners.terminal.operators import print_operators

    return print_operators(options.names, open_console(), as_json=options.json)
