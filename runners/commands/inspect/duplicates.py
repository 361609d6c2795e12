"""`winnow duplicates` lists the largest clusters of duplicates; `winnow duplicates show` shows one row's clusters."""

import argparse
from collections.abc import Iterator

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console, open_place

LIMIT = 20
ROWS = 60


class _Kinds:
    """The names of kinds of duplicates, which are looked up where they are asked for."""

    def __iter__(self) -> Iterator[str]:
        from winnow.filters.duplicates.kind import kind_names

        return iter(kind_names())

    def __contains__(self, name: object) -> bool:
        return name in list(self)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("words", nargs="+", metavar="RECIPE|STORE", help="a recipe file or a store folder")
    parser.add_argument("--kind", choices=_Kinds(), metavar="KIND", help="show this kind only: %(choices)s")
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="N",
        help="how many clusters of each kind, or rows of a cluster, to list (default: %(default)s)",
    )
    parser.add_argument("--with", dest="other", metavar="ID", help="show: compare with this row instead of the match")
    parser.add_argument(
        "--lines",
        type=int,
        default=ROWS,
        metavar="N",
        help="show: lines of the difference; 0 for all (default: %(default)s)",
    )
    parser.add_argument("--raw", action="store_true", help="show texts as read, without the recipe's edits")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """List clusters, or show one row."""
    from winnow.runners.stages.duplicates.clusters import parse_request, run_duplicates

    request = parse_request(options.words)
    return run_duplicates(options, request, *open_place(request.place), open_console())


COMMAND = Command(
    "list the largest clusters of duplicates; with 'show', compare one row with its match",
    arguments,
    run,
    place=9,
    slow_start=True,
    usage="winnow duplicates RECIPE|STORE [options]\n       winnow duplicates show RECIPE|STORE ID [options]",
    epilog="With a recipe, texts are shown as they would be exported. With a store alone, texts are shown only "
    "with --raw. Write './show' for a store folder named 'show'.",
)
