"""The command line: one parser, one place where errors become lines, one function a command."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from winnow import __version__
from winnow.runners.assets import add_assets
from winnow.runners.curve_arguments import add_curve
from winnow.runners.duplicates_arguments import add_duplicates
from winnow.runners.forgetting_arguments import add_forget
from winnow.runners.jobserver.arguments import add_engines
from winnow.runners.jobserver.running import JOB_SERVERS
from winnow.runners.law.arguments import add_law
from winnow.runners.mixture.arguments import add_export, add_mix
from winnow.runners.nursery import NURSERY
from winnow.runners.parity.arguments import add_parity
from winnow.runners.reference_arguments import add_reference
from winnow.runners.robots_arguments import add_robots
from winnow.runners.safety.arguments import add_safety_parity
from winnow.runners.show_arguments import add_show
from winnow.runners.training.arguments import add_training
from winnow.runners.usage import PIPELINES, CommandParser
from winnow.schemas.errors import WinnowError

USAGE_ERROR = 2
INTERRUPTED = 130


def entry() -> NoReturn:
    """The `winnow` command.

    Leaves without the interpreter's farewell: thread pools of native libraries that are still alive in it now and
    then end an otherwise finished run with "terminate called without an active exception".
    """
    status = main()
    NURSERY.close()
    JOB_SERVERS.close()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        status = status or 0
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, beam = _split(given)
    options, rest = _parser().parse_known_args(own)
    if rest:
        options.parser.refuse(options.command, rest)
    logging.basicConfig(level=logging.WARNING if options.debug else logging.CRITICAL)  # libraries' talk is not ours
    try:
        command = _command(options.command.replace("-", "_"))
        if beam and options.command not in PIPELINES:
            raise WinnowError(f"winnow {options.command} runs no pipeline; nothing may follow '--'")
        options.beam = beam
        return command(options)
    except WinnowError as error:
        if options.debug:
            raise
        for line in str(error).splitlines():
            print(f"winnow: {line}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has had enough
        return 0
    except OSError as error:
        if options.debug:
            raise
        print(f"winnow: {error.filename or 'system'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("winnow: interrupted; what was committed stays, the same command goes on from there", file=sys.stderr)
        return INTERRUPTED


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    if name == "law":  # arithmetic: no Beam
        from winnow.runners.law.command import law

        return law
    if name == "engines":  # asks what is installed: no Beam
        from winnow.runners.jobserver.command import engines

        return engines
    from winnow.runners import commands  # Beam takes a second to import: not for --help

    found: Callable[[argparse.Namespace], int] = getattr(commands, name)
    return found


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = CommandParser(
        prog="winnow",
        description="From a crawl to a training mixture.",
        epilog="Flags after '--' go to Beam. 'winnow COMMAND --help' says more.",
    )
    parser.add_argument("--version", action="version", version=f"winnow {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="the bundled crawl through every stage, ending in a report")
    demo.add_argument("--into", default="demo-output", metavar="FOLDER", help="where to work (default: %(default)s)")
    _engine(demo)

    for name, text in (
        ("run", "every stage that the recipe asks for, then the report"),
        ("ingest", "read the sources into the store, and extract text in the same read"),
    ):
        stage = commands.add_parser(name, help=text)
        _recipe(stage)
        _engine(stage)
        stage.add_argument(
            "--replace", action="store_true", help="ingest source files that have changed in place of what they were"
        )
        if name == "ingest":
            _slice(stage)

    annotate = commands.add_parser("annotate", help="measure what was ingested with the recipe's operators")
    _recipe(annotate)
    _engine(annotate)
    _slice(annotate)

    dedupe = commands.add_parser("dedupe", help="find the samples that are the same as others, or nearly")
    _recipe(dedupe)
    _engine(dedupe)

    score = commands.add_parser("score", help="score what was measured towards reference weights, and say whom to keep")
    _recipe(score)
    _engine(score)
    _slice(score)
    add_reference(commands)

    _engine(add_mix(commands))
    _engine(add_export(commands))

    operators = commands.add_parser("operators", help="the measurements there are, their columns and settings")
    operators.add_argument("names", nargs="*", metavar="NAME", help="show these in full")
    operators.add_argument("--json", action="store_true", help="print one JSON object")

    add_assets(commands)
    add_engines(commands)
    add_curve(commands)
    add_law(commands)
    add_parity(commands)
    add_safety_parity(commands)
    add_training(commands)

    plan = commands.add_parser(
        "plan", help="the resolved recipe, the tasks, and what the rules drop and why; changes no store"
    )
    plan.add_argument("recipe", metavar="RECIPE", nargs="?", help="a recipe file")
    plan.add_argument(
        "--diff", nargs=2, metavar=("OLD", "NEW"), help="in place of a recipe: how two plans of mixtures differ"
    )
    plan.add_argument("--json", action="store_true", help="print one JSON object")
    plan.add_argument("--rates", metavar="FILE", help="estimate by the rates of this file, over those that are shipped")
    plan.add_argument(
        "--workers", default="0", metavar="N", help="estimate the time of N workers (default: one a core)"
    )
    plan.add_argument("--decisions", metavar="FILE", help="write one row for each dropped sample to this Parquet file")

    audit = commands.add_parser("audit", help="prove from files alone that no row and no byte is lost")
    _place(audit)
    audit.add_argument("--store-only", action="store_true", help="read neither sources nor exports again")
    audit.add_argument("--json", action="store_true", help="print one JSON object")

    stats = commands.add_parser("stats", help="what is in the store")
    _place(stats)
    stats.add_argument("--rates", metavar="FILE", help="compare what runs took with the rates of this file")
    stats.add_argument("--measured", action="store_true", help="print the rates that runs had, as a file for --rates")
    stats.add_argument("--near", metavar="REASON", help="show the samples nearest to the thresholds of this rule")
    stats.add_argument("--json", action="store_true", help="print one JSON object")

    report = commands.add_parser("report", help="one HTML page about the store")
    _place(report)
    report.add_argument("--output", metavar="FILE", help="where to write it (default: report.html in the store)")

    card = commands.add_parser("card", help="a dataset card in Markdown, of what the rules keep and who looked at it")
    _recipe(card)
    card.add_argument("--output", metavar="FILE", help="where to write it (default: the terminal)")

    add_forget(commands)
    add_robots(commands)

    add_show(commands)
    add_duplicates(commands)

    gc = commands.add_parser("gc", help="drop what the last generations do not name")
    _place(gc)
    gc.add_argument("--keep", type=int, default=2, metavar="K", help="generations to keep (default: %(default)s)")
    gc.add_argument(
        "--purge", action="store_true", help="take the content of forgotten rows out of every object and report"
    )
    gc.add_argument(
        "--gone",
        action="store_true",
        help="also drop the records of exports and other outputs that were deleted, of which audit says that they are "
        "no longer there",
    )
    gc.add_argument("--dry-run", action="store_true", help="say what would go; drop nothing")
    return parser


def _recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file")


def _place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="RECIPE|STORE", help="a recipe file, or a store's folder")


def _slice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks", metavar="K/N", help="do the K-th of N slices of the tasks and publish nothing; docs/slurm.md"
    )


def _engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runner",
        default="local",
        metavar="NAME",
        help="local (default), portable, spark, flink, dataflow or prism: docs/engines.md",
    )
    parser.add_argument("--workers", default="0", metavar="N", help="worker processes (default: one a core)")
