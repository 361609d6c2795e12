"""`winnow forget`: hide rows from all plans at once."""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument, runner_arguments
from winnow.runners.stages.opening import open_console, open_jobs, open_place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    runner_arguments(parser)
    for kind, name, text in (
        ("url", "URL", "the rows of this URL"),
        ("domain", "HOST", "the rows of this host and its subdomains"),
        ("id", "ID", "the sample with this id"),
        ("sha256", "HEX", "the rows whose UTF-8 text or media have this SHA-256"),
    ):
        parser.add_argument(f"--{kind}", action="append", default=[], metavar=name, help=text)
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="LIST",
        help="a file with one selector per line, such as 'domain HOST'",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="reason to record in the tombstone, verbatim")
    parser.add_argument("--dry-run", action="store_true", help="show what would be hidden; record nothing")
    parser.add_argument("--list", action="store_true", help="list past requests, and how much of them is purged")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Record what to forget; the exit status is 3 if no row of the store matches."""
    from winnow.runners.stages.forgetting import run_forget

    store = open_place(options.place)[1]
    return run_forget(options, store, open_jobs(options, store, "forget", quiet=options.json), open_console())


COMMAND = Command(
    "hide rows from all plans at once; 'gc --purge' then removes their content",
    arguments,
    run,
    place=1,
    beam=True,
    epilog="Exit status: 0 recorded; 3 recorded, but no row of the store matches yet; 1 some selectors are invalid "
    "and the others are recorded.",
)
