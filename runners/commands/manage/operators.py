"""`winnow operators`: list the operators, the columns they read and write, and their settings."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.opening import open_console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="show these operators or presets in full")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """List operators, or describe some."""
    from winnow.runners.terminal.operators import print_operators

    return print_operators(options.names, open_console(), as_json=options.json)


COMMAND = Command("list the operators, their columns and settings", arguments, run, place=6)
