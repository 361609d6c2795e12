"""Requests that are cancelled: the page has asked something newer, or their budget of seconds is spent.

The server sets a flag around a view's answer. A view that reads many rows calls `check_cancelled` between parts of its
work, and hands the flag to threads that work for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from winnow.schemas.errors import WinnowError


class CancelledError(WinnowError):
    """A request whose answer nobody waits for any longer."""


class StoppedError(CancelledError):
    """A request that was given up although somebody waits for its answer; it says why."""


Cancelled: TypeAlias = Callable[[], bool]
"""Whether a request's answer is no longer wanted; callable from any thread."""

_CANCELLED: ContextVar[Cancelled] = ContextVar("cancelled", default=lambda: False)


@contextmanager
def cancellable(cancelled: Cancelled) -> Iterator[None]:
    """Answer a request, in this thread, that may be cancelled meanwhile."""
    token = _CANCELLED.set(cancelled)
    try:
        yield
    finally:
        _CANCELLED.reset(token)


def cancelled_flag() -> Cancelled:
    """The flag of the request that this thread answers, for threads that work for it."""
    return _CANCELLED.get()


def check_cancelled() -> None:
    """Stop if the answer is no longer wanted: CancelledError."""
    if _CANCELLED.get()():
        raise CancelledError("cancelled: the page asked something newer")
