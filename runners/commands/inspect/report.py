"""`winnow report`: write an HTML report about the store."""

import argparse
from contextlib import nullcontext
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument
from winnow.runners.stages.opening import open_console, open_place

PICTURES = 24


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument("--output", metavar="FILE", help="file to write (default: report.html in the store)")
    parser.add_argument(
        "--contact-sheet",
        action="append",
        default=[],
        metavar="WHICH",
        help="add pictures: random, near:RULE (nearest to its threshold) or reason:NAME (dropped for it); repeatable",
    )
    parser.add_argument(
        "--pictures",
        type=int,
        default=PICTURES,
        metavar="N",
        help="pictures on each contact sheet (default: %(default)s)",
    )
    parser.add_argument(
        "--unblurred", action="store_true", help="show pictures that image.nsfw calls unsafe as they are"
    )


def run(options: argparse.Namespace) -> int:
    """Write the report."""
    from winnow.pipelines.forgetting.outputs import REPORT
    from winnow.pipelines.store import layout
    from winnow.runners.facts.rules import print_losses
    from winnow.runners.stages.lists.whole_file import registered_file, require_writable
    from winnow.runners.stages.reports.gathered_sheets import wanted_sheets
    from winnow.runners.stages.reports.writing import write_report

    recipe, store = open_place(options.place)
    target = Path(options.output) if options.output else None
    if target is not None:
        require_writable("--output", target)
    wanted = wanted_sheets(options.contact_sheet, options.pictures, unblurred=options.unblurred)
    number = store.require_record().number
    with nullcontext() if target is None else registered_file(store.objects, REPORT, target, number):
        _, rules = write_report(store, target, recipe, wanted=wanted, unblurred=options.unblurred)
    console = open_console()
    if rules is not None:
        print_losses(rules, console)
    console.print(f"report  {target or f'{store.root}/{layout.REPORT}'}")
    return 0


COMMAND = Command("write an HTML report about the store", arguments, run, place=6, slow_start=True)
