"""Ends a command that is asked to end: by an interrupt of the terminal, or by SIGTERM of a scheduler or container."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from winnow.schemas.errors import is_interrupted_query

INTERRUPTED, TERMINATED = 130, 143
"""Exit statuses, as shells give them: 128 and the number of the signal."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. It unwinds like an interrupt: workers end, and a run writes its report."""


_arrived: list[int] = []
"""Each SIGTERM of this process."""


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
