"""`winnow duplicates`: the largest clusters of duplicates; `winnow duplicates show`: one row of them."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console, open_place

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


LIMIT = 20
ROWS = 60
MOST = 10_000


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser(
        "duplicates",
        help="the largest clusters of duplicates; with 'show', one row's and where it differs",
        usage="winnow duplicates RECIPE|STORE [options]\n       winnow duplicates show RECIPE|STORE ID [options]",
        epilog="Texts are shown as they would be exported, which the recipe says; of a store alone none is shown "
        "unless --raw asks for it. A store's folder that is called 'show' is written './show'.",
    )
    parser.add_argument("words", nargs="+", metavar="RECIPE|STORE", help="a recipe file, or a store's folder")
    parser.add_argument("--kind", choices=("near", "exact", "url"), help="of this kind alone")
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="N",
        help="clusters of a kind, or rows of one (default: %(default)s)",
    )
    parser.add_argument(
        "--with", dest="other", metavar="ID", help="show: the row to compare with, instead of its match"
    )
    parser.add_argument(
        "--lines", type=int, default=ROWS, metavar="N", help="show: of the difference; 0 for all (default: %(default)s)"
    )
    parser.add_argument("--raw", action="store_true", help="texts as they were read")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """List clusters, or show one row."""
    from winnow.runners.terminal.duplicates import asked, run_duplicates

    said = asked(options.words)
    return run_duplicates(options, said, *open_place(said.place), open_console())
