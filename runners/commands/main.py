"""The command line: builds the parser, runs a command, ends it on a signal, and prints its errors."""

import argparse
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from winnow.pipelines.processes.address_space import (
    OUT_OF_MEMORY,
    lacks_memory,
    prepare_for_memory_limit,
    require_address_space,
    share_one_heap,
)
from winnow.pipelines.processes.run_folder import temporary_files_of_a_command
from winnow.runners.commands.command import Command, commands_by_group, find_command, is_command
from winnow.runners.commands.parser import CommandParser, describe_commands, group_commands
from winnow.runners.terminal.log_file import command_output, say_error
from winnow.schemas.environment.modules import SAFE_PATH
from winnow.schemas.errors import WinnowError, is_interrupted_query

_PROCESSES = (
    ("winnow.runners.engines.workers.fork_server", "FORK_SERVER"),
    ("winnow.runners.engines.java.job_servers", "JOB_SERVERS"),
)
"""Owners of child processes, closed at the end of a command that loaded them."""

INTERRUPTED, TERMINATED = 130, 143
"""Exit statuses, as shells give them: 128 and the number of the signal."""
_arrived: list[int] = []
"""Each SIGTERM of this process."""


def entry() -> NoReturn:
    """The `winnow` command.

    Skips the interpreter's shutdown, in which live thread pools of native libraries sometimes end a finished run with
    "terminate called without an active exception".
    """
    escape_unencodable(sys.stdout, sys.stderr)
    os.environ.update(SAFE_PATH)
    with temporary_files_of_a_command():
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


def escape_unencodable(*streams: object) -> None:
    """Print as codes what a stream cannot encode: a terminal may not be of UTF-8, and names are of any script."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit status."""
    prepare_for_memory_limit()
    share_one_heap()
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, beam = _split(given)
    try:
        options, rest = command_parser(own).parse_known_args(own)
    except WinnowError as error:  # of a package that brings a command
        say_error(f"winnow: {error}")
        return 1
    command = find_command(options.command)
    if rest:
        options.parser.refuse(options.command, rest, beam=command.beam, sliced=_sliced)
    logging.basicConfig(level=logging.WARNING if options.debug else logging.CRITICAL)  # hides what libraries log
    shown = vars(options)
    try:
        with command_output(quiet=shown.get("quiet", False), log_file=shown.get("log_file")):
            return _answer(own, beam, command, options)
    except WinnowError as error:  # the log file cannot be written, or --debug
        if options.debug:
            raise
        say_error(f"winnow: {error}")
        return 1


def _answer(own: Sequence[str], beam: Sequence[str], command: Command, options: argparse.Namespace) -> int:
    """Run the command; an error is one line."""
    try:
        _require_utf8(own)
        if command.beam or "recipe" in options:
            require_address_space(options.command, pipelines=command.beam)
        if beam and not command.beam:
            raise WinnowError(f"winnow {options.command} runs no pipeline, so it takes no Beam flags after '--'")
        options.beam = beam
        if command.slow_start:
            _announce(options)
        with terminable():
            return _run(command.run, options)
    except WinnowError as error:
        if options.debug:
            raise
        from winnow.runners.tables.escaping import visible

        for line in str(error).splitlines():
            say_error(f"winnow: {visible(line)}")  # it may quote a crawl
        return 1
    except (MemoryError, RuntimeError, ImportError) as error:
        if (status := ended_by(error)) is not None:
            return _ended(status)
        if options.debug or not (isinstance(error, MemoryError) or lacks_memory(repr(error))):
            raise
        say_error(f"winnow: {OUT_OF_MEMORY}")
        return 1
    except BrokenPipeError:  # the reader of our output closed it, as `head` does
        return 0
    except OSError as error:
        if options.debug:
            raise
        from winnow.runners.engines.failures import system_error

        say_error(f"winnow: {system_error(error)}")
        return 1
    except KeyboardInterrupt as error:
        return _ended(ended_by(error) or INTERRUPTED)


def _ended(status: int) -> int:
    how = "terminated" if status == TERMINATED else "interrupted"
    say_error(f"winnow: {how}; committed work is kept, run the same command again to continue")
    return status


def _announce(options: argparse.Namespace) -> None:
    """A first line at once, where someone waits before a terminal: recipes and operators take seconds to load."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    given = vars(options)
    of = next((given[name] for name in ("recipe", "place", "places", "old") if given.get(name) is not None), "")
    what = " ".join(of) if isinstance(of, list) else of
    print(f"{options.command:<7} {what} …", file=sys.stderr, flush=True)


def _require_utf8(arguments: Sequence[str]) -> None:
    """Refuse names that no record of a store can hold; files below a source's root may have any name."""
    for what, text in (*(("argument", text) for text in arguments), ("the current folder", os.getcwd())):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise WinnowError(
                f"{what} {os.fsencode(text)!r}: not UTF-8, as names in a store's records are; rename the file or folder"
            ) from None


def _run(command: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command; one that writes a store keeps the lease from its first stage until it ends."""
    if "wait" not in options:
        return command(options)
    from winnow.pipelines.store.leases.command_lease import Wait, one_command, parse_wait

    wait = None if options.wait is None else Wait(_say, parse_wait(options.wait))
    with one_command(wait):
        return command(options)


def _say(line: str) -> None:
    say_error(f"winnow: {line}")


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def command_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """With the command that is asked for, or with all of them if the first argument is none."""
    parser: argparse.ArgumentParser = CommandParser(prog="winnow", description="Turns a crawl into a training mixture.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    first = arguments[0] if arguments else ""
    alone = is_command(first)
    groups = {"": {first: find_command(first)}} if alone else commands_by_group()
    for name, command in (item for of in groups.values() for item in of.items()):
        of_command = commands.add_parser(name, help=command.summary, usage=command.usage, epilog=command.epilog)
        if first not in ("-h", "--help"):  # which list commands alone
            command.arguments(of_command)
    describe_commands(commands)
    if not alone:
        group_commands(parser, commands, groups)
    return parser


def _sliced() -> list[str]:
    """The commands that accept `--tasks`."""
    found = []
    for name, command in (item for of in commands_by_group().values() for item in of.items()):
        parser = CommandParser()
        command.arguments(parser)
        found += [name] if "--tasks" in parser.flags else []
    return found


class _Version(argparse.Action):
    """Prints the version; looks it up only on request, as that is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from winnow.schemas.environment.version import winnow_version

        print(f"winnow {winnow_version()}")
        parser.exit()


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. It unwinds like an interrupt: workers end, and a run writes its report."""


def ended_by(error: BaseException) -> int | None:
    """The exit status for an error that a signal caused; None for others.

    DuckDB answers a signal during a query with an error of its own, and drops what the handler raised.
    """
    if isinstance(error, Terminated) or (is_interrupted_query(error) and _arrived):
        return TERMINATED
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) or is_interrupted_query(error) else None


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` in the main thread when SIGTERM arrives. Forked processes end by it as before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process = os.getpid()

    def terminate(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
        if os.getpid() == process:
            _arrived.append(number)
            raise Terminated
        os.kill(os.getpid(), number)

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
