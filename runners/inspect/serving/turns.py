"""Turns: what the page asks for now, and what it no longer needs.

A request takes a turn in its lane. A newer turn of the same lane ends the one that is still running, and so do its
budget of seconds, a page that was closed, and the server's end. The work sees that by `cancelling.check_cancelled`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from winnow.pipelines.processes.cancelling import CancelledError, StoppedError


@dataclass(eq=False)
class Turn:
    """One request's right to go on. Safe to use from several threads."""

    seconds: float  # its budget
    _ended: CancelledError | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self, why: str) -> None:
        """Give the work up, as nobody waits for it; the first reason counts."""
        self._end(CancelledError(why))

    def exceed(self) -> None:
        """Give the work up as it took too long."""
        self._end(StoppedError(f"stopped after {self.seconds:g} s, the most that this may take; ask for less at once"))

    def _end(self, why: CancelledError) -> None:
        with self._lock:
            self._ended = self._ended or why

    def is_over(self) -> bool:
        """Whether the work was given up."""
        return self._ended is not None

    def over(self) -> CancelledError:
        """Why the work was given up."""
        return self._ended or CancelledError("given up")


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
