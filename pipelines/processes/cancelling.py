"""Work that is given up before its end: nobody waits for it any longer, or its budget of seconds is spent.

Who starts such work sets a flag around it (`cancellable`), as the page of `winnow inspect` does around each answer.
Passes over shards look at it between shards (`pipelines/store/concurrency.py`), also in threads that work for them;
other long work calls `check_cancelled` between its parts. Where nobody has set a flag, nothing is ever given up.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from winnow.schemas.errors import WinnowError


class CancelledError(WinnowError):
    """Work whose result nobody waits for any longer."""


class StoppedError(CancelledError):
    """Work that was given up although somebody waits for its result; it says why."""


Cancelled: TypeAlias = Callable[[], bool]
"""Whether the result of some work is no longer wanted; callable from any thread."""

_CANCELLED: ContextVar[Cancelled | None] = ContextVar("cancelled", default=None)
_POLL_SECONDS: Final = 0.05


@contextmanager
def cancellable(cancelled: Cancelled) -> Iterator[None]:
    """Do work, in this thread, that may be given up meanwhile."""
    token = _CANCELLED.set(cancelled)
    try:
        yield
    finally:
        _CANCELLED.reset(token)


def cancelled_flag() -> Cancelled:
    """The flag of this thread's work, for threads that do a part of it."""
    return _CANCELLED.get() or (lambda: False)


def check_cancelled() -> None:
    """Stop if the result is no longer wanted: CancelledError."""
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled():
        raise CancelledError("cancelled: nobody waits for the result any longer")


@contextmanager
def interrupted_if_cancelled(interrupt: Callable[[], None]) -> Iterator[None]:
    """Interrupt a query of this thread when its work is given up; the error is then CancelledError."""
    cancelled, done = _CANCELLED.get(), threading.Event()
    if cancelled is None:
        yield
        return

    def watch() -> None:
        while not done.wait(_POLL_SECONDS):
            if cancelled():
                interrupt()  # again and again: one that comes before the query has begun is lost

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if cancelled():
            raise CancelledError("cancelled: the query was given up") from None
        raise
    finally:
        done.set()
        watcher.join()
