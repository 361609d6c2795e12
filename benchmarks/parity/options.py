"""What the commands of both parities share: options that say what is read, and mistakes in one line."""

import argparse
import sys
from collections.abc import Callable, Sequence

from rich.console import Console

from benchmarks.parity.documents import Columns
from winnow.runners.terminal.console import TerminalConsole
from winnow.schemas.errors import WinnowError


def document_options(parser: argparse.ArgumentParser, limit: str) -> None:
    """Add the options of `columns_of`, and `--limit` with its help."""
    parser.add_argument("--limit", type=int, metavar="N", help=limit)
    for name, what in (("text", "texts"), ("id", "names"), ("language", "languages")):
        parser.add_argument(
            f"--{name}", default=name, metavar="COLUMN", help=f"the column of {what} (default: %(default)s)"
        )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def columns_of(options: argparse.Namespace) -> Columns:
    """The columns that the options name; WinnowError where the limit is none."""
    if options.limit is not None and options.limit < 1:
        raise WinnowError(f"--limit {options.limit}: expected 1 or more")
    return Columns(options.text, options.id, options.language)


def run_command(
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, Console], int],
    arguments: Sequence[str] | None,
) -> int:
    """Run a comparison; a mistake is one line and the status 1."""
    try:
        return run(parser.parse_args(arguments), TerminalConsole())
    except WinnowError as error:
        for line in str(error).splitlines():
            print(f"{parser.prog.removeprefix('python -m ')}: {line}", file=sys.stderr)
        return 1
