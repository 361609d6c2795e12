"""`winnow curve`: how likely MinHash bands and rows find near duplicates, for presets or settings of your own."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.opening import open_console

THRESHOLD = 0.75  # FineWeb: its 14 bands of 8 rows target texts that are at least 75 % alike


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("preset", nargs="?", metavar="PRESET", help="a preset for near duplicates (default: show all)")
    parser.add_argument("--bands", type=int, metavar="B", help="bands of your own curve; needs --rows")
    parser.add_argument("--rows", type=int, metavar="R", help="hashes per band")
    parser.add_argument("--hashes", type=int, metavar="N", help="find the best bands and rows for at most N hashes")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help=f"similarity from which texts count as duplicates (default: {THRESHOLD})",
    )
    parser.add_argument("--plot", metavar="FILE.svg", help="write a plot of the curve to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(default_threshold=THRESHOLD)


def run(options: argparse.Namespace) -> int:
    """Show a curve, or all presets."""
    from winnow.runners.terminal.curve import run_curve

    return run_curve(options, open_console())


COMMAND = Command("show how likely near duplicates are found, by similarity, bands and rows", arguments, run, place=1)
