"""A status line for running work: a bar that is redrawn on a terminal, a line at intervals elsewhere and in the log.

For display only: nothing depends on it.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from winnow.runners.terminal.console import is_drawn_on
from winnow.runners.terminal.log_file import LOG
from winnow.runners.terminal.progress.pace import Pace, clock
from winnow.runners.terminal.progress.status import Status
from winnow.schemas.errors import WinnowError

DRAWN_SECONDS = 0.5  # between drawings on a terminal
PLAIN_SECONDS = 10.0  # between lines when the output is no terminal


class StatusLine:
    """Keeps a status up to date while a block runs, in its own thread; the callback may read a store."""

    def __init__(self, console: Console, first: Status, poll: Callable[[], Status], seconds: float = 0.0) -> None:
        """Begin. `first`: shown until the first poll; `poll`: returns the status; `seconds`: the least time between
        polls, by default one poll per drawing."""
        self._console = console
        self._status = first
        self._poll = poll
        self._seconds = seconds
        self._began = time.monotonic()
        self._pace = Pace(self._began)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if is_drawn_on(self._console):
            self._live = Live(self._drawn(), console=self._console, transient=True, auto_refresh=False)
            self._live.start(refresh=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._live:
            self._live.stop()

    def _watch(self) -> None:
        printed = due = time.monotonic()
        while not self._stop.wait(DRAWN_SECONDS):
            if time.monotonic() >= due:
                due = self._ask()
            if self._live:
                self._live.update(self._drawn(), refresh=True)
            if time.monotonic() - printed >= PLAIN_SECONDS:
                printed = time.monotonic()
                self._say(self._status.line(*self._times()))

    def _ask(self) -> float:
        """Ask for the status; return when to ask again."""
        asked = time.monotonic()
        try:
            self._status = self._poll()
            self._pace.update(asked, self._status.share or 0.0)
        except (OSError, WinnowError):  # display only: the work itself reports errors of its store
            pass
        answered = time.monotonic()
        return answered + max(self._seconds, 10 * (answered - asked))  # asks a large store less often

    def _say(self, line: str) -> None:
        if not self._live:
            self._console.print(line)
        elif LOG.handlers:
            LOG.info("%s", line)

    def _drawn(self) -> Text:
        unicode = self._console.encoding.lower().startswith("utf")
        return self._status.drawn(self._console.width, unicode, *self._times())

    def _times(self) -> tuple[str, ...]:
        share = self._status.share
        left = self._pace.seconds_left if share is not None and share >= self._status.told_from else None
        elapsed = clock(time.monotonic() - self._began)
        return (elapsed,) if left is None else (elapsed, f"{clock(left)} left")


def waiting(console: Console, name: str, what: str) -> StatusLine:
    """A status line for work whose amount is unknown; pipes see it only if it takes long."""
    status = Status(name, (what,))
    return StatusLine(console, status, lambda: status)
