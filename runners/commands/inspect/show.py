"""`winnow show`: show one sample: its measurements, the rules' decision, and its text as it would be exported."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


CHARACTERS = 4000


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    show = commands.add_parser(
        "show", help="show one sample: its measurements, the rules' decision, and its edited text"
    )
    show.add_argument("recipe", metavar="RECIPE", help="a recipe file")
    show.add_argument("id", nargs="?", metavar="ID", help="the sample's id in hexadecimal, or the start of it")
    show.add_argument("--url", metavar="URL", help="find the sample by its URL")
    show.add_argument("--raw", action="store_true", help="show the text as read, and mark what edits would change")
    show.add_argument(
        "--characters",
        type=int,
        default=CHARACTERS,
        metavar="N",
        help="characters of the text to show; 0 for all (default: %(default)s)",
    )
    show.add_argument("--json", action="store_true", help="print one JSON object, with the whole text")


def run(options: argparse.Namespace) -> int:
    """Show one sample."""
    from winnow.runners.terminal.samples.sample import run_show

    return run_show(options, open_console())
