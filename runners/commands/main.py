"""The command line: one parser, one place where errors become lines, one file per command."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from winnow.runners.commands.parser import PIPELINES, CommandParser
from winnow.schemas.errors import WinnowError

COMMANDS = (
    "demo",
    "run",
    "ingest",
    "annotate",
    "dedupe",
    "score",
    "reference",
    "mix",
    "export",
    "plan",
    "audit",
    "stats",
    "report",
    "card",
    "show",
    "duplicates",
    "forget",
    "gc",
    "robots",
    "operators",
    "assets",
    "engines",
    "curve",
    "law",
    "train_quality",
)
"""The modules of this folder that are commands, in the order of the help."""

USAGE_ERROR = 2
INTERRUPTED = 130

_PROCESSES = (
    ("winnow.runners.engines.workers.fork_server", "FORK_SERVER"),
    ("winnow.runners.engines.java.job_servers", "JOB_SERVERS"),
)
"""What keeps processes for as long as a command runs, where the command has loaded it."""


def entry() -> NoReturn:
    """The `winnow` command.

    Leaves without the interpreter's farewell: thread pools of native libraries that are still alive in it now and
    then end an otherwise finished run with "terminate called without an active exception".
    """
    status = main()
    for module, name in _PROCESSES:
        if module in sys.modules:
            getattr(sys.modules[module], name).close()
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
        command: Callable[[argparse.Namespace], int] = import_module(
            f"winnow.runners.commands.{options.command.replace('-', '_')}"
        ).run
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


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = CommandParser(
        prog="winnow",
        description="From a crawl to a training mixture.",
        epilog="Flags after '--' go to Beam. 'winnow COMMAND --help' says more.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"winnow.runners.commands.{name}").add(commands)
    return parser


class _Version(argparse.Action):
    """Prints the version, which is looked up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from winnow.schemas.version import winnow_version

        print(f"winnow {winnow_version()}")
        parser.exit()
