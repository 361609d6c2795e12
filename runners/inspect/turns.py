"""Turns: what the page asks for now, and what it no longer needs.

A request takes a turn in its lane. A newer turn of the same lane ends the one that is still running, and so do its
budget of seconds, a page that was closed, and the server's end. Work looks at its turn where it can stop, such as
between shards, and hands it what interrupts a query. Outside of a request there is a turn that never ends.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from winnow.schemas.errors import WinnowError


class EndedError(WinnowError):
    """Work that was given up, with the reason."""


class BudgetError(EndedError):
    """Work that was given up as it took longer than its budget."""


@dataclass(eq=False)
class Turn:
    """One request's right to go on. Safe to use from several threads: hand it to those that work for it."""

    seconds: float | None = None  # its budget
    _ended: EndedError | None = None
    _interrupts: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """EndedError if the turn is over."""
        if self.seconds is not None and time.monotonic() - self._began > self.seconds:
            self.exceed()
        if self._ended is not None:
            raise self._ended

    def end(self, why: str) -> None:
        """Give the work up; the first reason counts."""
        self._end(EndedError(why))

    def exceed(self) -> None:
        """Give the work up as it took too long."""
        self._end(BudgetError(f"stopped after {self.seconds:g} s, the most that one request may take; ask for less"))

    @property
    def is_over(self) -> bool:
        """Whether the work was given up."""
        return self._ended is not None

    def over(self) -> EndedError:
        """Why the work was given up."""
        return self._ended or EndedError("the work was given up")

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Calls this, from another thread, if the turn ends within the block; whatever that raises is EndedError."""
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            self.check()
            yield
        except Exception:
            if self._ended is not None:
                raise self._ended from None
            raise
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    def _end(self, error: EndedError) -> None:
        with self._lock:
            if self._ended is not None:
                return
            self._ended = error
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()


_TURN: ContextVar[Turn] = ContextVar("turn")
_ENDLESS = Turn()


def current_turn() -> Turn:
    """The turn of the request that is answered here; other threads that work for it are handed it."""
    return _TURN.get(_ENDLESS)


@contextmanager
def taking(turn: Turn) -> Iterator[None]:
    """Makes it the current turn within the block."""
    token = _TURN.set(turn)
    try:
        yield
    finally:
        _TURN.reset(token)


class Lanes:
    """Which turn each lane is at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, tuple[float, Turn]] = {}
        self._alone: set[Turn] = set()  # turns without a lane

    @contextmanager
    def turn(self, lane: str | None, number: float, seconds: float) -> Iterator[Turn]:
        """A turn within the block; one that arrives after a newer turn of its lane is over at once."""
        turn = Turn(seconds)
        older: Turn | None = None
        with self._lock:
            if lane is None:
                self._alone.add(turn)
            else:
                newest, running = self._running.get(lane, (number, None))
                if running is not None and newest > number:
                    older = turn
                else:
                    older = running
                    self._running[lane] = (number, turn)
        if older is not None:
            older.end("the page asks for something newer")
        try:
            yield turn
        finally:
            with self._lock:
                self._alone.discard(turn)
                if lane is not None and self._running.get(lane, (0, None))[1] is turn:
                    del self._running[lane]

    def end_all(self, why: str) -> None:
        """Give everything up."""
        with self._lock:
            running = [*self._alone, *(turn for _, turn in self._running.values())]
        for turn in running:
            turn.end(why)
