"""`winnow curve`: what bands and rows find and miss, for a preset, numbers of your own, or the best there are."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


THRESHOLD = 0.75  # FineWeb's: its 14 bands of 8 rows are meant for texts that are at least 75 % alike


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    curve = commands.add_parser(
        "curve", help="how likely near duplicates are to be compared, by similarity, bands and rows"
    )
    curve.add_argument("preset", nargs="?", metavar="PRESET", help="a preset of near duplicates (default: show all)")
    curve.add_argument("--bands", type=int, metavar="B", help="with --rows: a curve of your own")
    curve.add_argument("--rows", type=int, metavar="R", help="hashes in a band")
    curve.add_argument("--hashes", type=int, metavar="N", help="the best bands and rows of at most so many hashes")
    curve.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help=f"similarity that makes texts duplicates (default: {THRESHOLD})",
    )
    curve.add_argument("--plot", metavar="FILE.svg", help="draw the curve into this file")
    curve.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Show a curve, or all presets."""
    from winnow.runners.terminal.curve import run_curve

    return run_curve(options, open_console())
