"""Reports what was being tried when a process ends in the middle of it, as after a fault in a native library."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

_REPEATS_THE_LAST_LINE = 'while read -r line; do last=$line; done; [ -z "$last" ] || printf "%s\\n" "$last" >&2'


class ExitedError(Exception):
    """The code that was tried called `os._exit`."""


@contextmanager
def report_on_exit() -> Iterator[Callable[[str], None]]:
    """Yields a function to call with a line before each try: if the process ends, its last line is printed.

    `os._exit` raises ExitedError within, so that it is an error like any other.
    """
    command = ["/bin/sh", "-c", _REPEATS_THE_LAST_LINE]
    exits, process = os._exit, os.getpid()

    def raises(status: int) -> NoReturn:
        if os.getpid() != process:  # a fork ends as it wants to
            exits(status)
        raise ExitedError(f"os._exit({status})")

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as repeating:
        stream = repeating.stdin
        assert stream is not None

        def say(line: str) -> None:
            with suppress(BrokenPipeError):
                stream.write(" ".join(line.splitlines()).encode("utf-8", "replace") + b"\n")
                stream.flush()

        os._exit = raises
        try:
            yield say
        finally:
            os._exit = exits
            say("")
