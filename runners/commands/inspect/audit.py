"""`winnow audit`: prove from the files alone that no row and no byte is lost."""

import argparse
import sys
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument, runner_arguments
from winnow.runners.stages.opening import open_console, open_jobs, open_place

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.pipelines.audit import Findings


SHOWN = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    runner_arguments(parser)
    parser.add_argument(
        "--store-only", action="store_true", help="check the store only; read no sources and no exports"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Audit the latest generation; the exit status is 0 if all is proved, 1 if something is wrong."""
    from winnow.pipelines.audit import audit_store

    recipe, store = open_place(options.place)
    context = recipe.ingest(store) if recipe is not None and not options.store_only else None
    jobs = open_jobs(options, store, "audit", quiet=options.json)
    findings = audit_store(store, recipe, context, exports=not options.store_only, jobs=jobs)
    return print_findings(findings, open_console(), as_json=options.json)


def print_findings(findings: "Findings", console: "Console", *, as_json: bool) -> int:
    """Print the findings; returns the exit status."""
    from winnow.runners.tables.escaping import visible
    from winnow.schemas.counts import count_of
    from winnow.schemas.records import to_json

    if as_json:
        sys.stdout.write(to_json(findings).decode() + "\n")
        return 1 if findings.problems else 0
    for line in findings.proved:
        console.print(f"ok      {visible(line)}")
    for line in findings.notes:
        console.print(f"note    {visible(line)}")
    for line in findings.problems[:SHOWN]:
        console.print(f"WRONG   {visible(line)}")
    if len(findings.problems) > SHOWN:
        console.print(f"WRONG   … and {len(findings.problems) - SHOWN:,} more")
    console.print(f"audit   {count_of(len(findings.problems), 'problem') if findings.problems else 'clean'}")
    return 1 if findings.problems else 0


COMMAND = Command("prove from the files alone that no row and no byte is lost", arguments, run, place=4, beam=True)
