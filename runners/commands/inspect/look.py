"""`winnow look`: what some files hold, without a recipe."""

import argparse
import shlex
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console
from winnow.schemas.errors import RecipeError

if TYPE_CHECKING:
    from winnow.runners.first_look.address_lists import AddressFile

MOST_ROWS = 100_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("places", metavar="FILE|FOLDER", nargs="+", help="files, folders or bucket addresses")
    parser.add_argument("--rows", metavar="N", default="2000", help="about how many rows to measure (default: 2000)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Look at the files, and print what they hold."""
    import sys

    import orjson

    from winnow.runners.first_look.address_lists import address_file
    from winnow.runners.first_look.found_files import find_files
    from winnow.runners.first_look.printing import look_json, print_look
    from winnow.runners.first_look.proposal import lacking, propose, without
    from winnow.runners.terminal.tables import print_line

    if not options.rows.isdecimal() or not 1 <= int(options.rows) <= MOST_ROWS:
        raise RecipeError(f"--rows: expected a number from 1 to {MOST_ROWS:,}, got {options.rows!r}")
    if (listed := address_file(options.places)) is not None:
        return _look_at_addresses(listed, as_json=options.json)
    found = find_files(options.places)
    proposal = propose(found)
    proposal = without(proposal, lacking(proposal))
    console = open_console()
    if not options.json:
        files = sum(len(source.group.files) for source in proposal.sources)
        print(f"looking at {files:,} file{'s'[: files != 1]} …", file=sys.stderr, flush=True)
    from winnow.runners.first_look.analysis import look_at

    look = look_at(proposal, int(options.rows))
    if options.json:
        sys.stdout.buffer.write(orjson.dumps(look_json(found, proposal, look), option=orjson.OPT_INDENT_2) + b"\n")
        return 0
    print_look(found, proposal, look, console)
    print_line(console, f"next  winnow init {shlex.join(options.places)}")
    return 0


def _look_at_addresses(listed: "AddressFile", *, as_json: bool) -> int:
    """Print what a list of addresses holds: there is nothing to measure before it is fetched."""
    from winnow.runners.terminal.tables import print_json, print_line, print_tables

    console = open_console()
    if as_json:
        print_json({"addresses": listed.lines, "repeated": listed.repeated, "hosts": dict(listed.hosts)})
        return 0
    print_line(console, listed.told())
    print_tables(console, listed.hosts_shown())
    print_line(console, f"next  winnow init {shlex.quote(listed.file)}")
    return 0


COMMAND = Command(
    "look at a sample of files: formats, columns, languages, what rules would drop; needs no recipe",
    arguments,
    run,
    place=1,
    slow_start=True,
)
