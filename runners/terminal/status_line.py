"""A status line for running work: redrawn on a terminal, printed at intervals elsewhere.

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

from winnow.schemas.errors import WinnowError

POLL_SECONDS = 0.5
PLAIN_SECONDS = 10.0  # between lines when the output is no terminal


class StatusLine:
    """Keeps a status line up to date while a block runs, from a thread of its own; the callback may read a store."""

    def __init__(self, console: Console, first: Text, line: Callable[[], Text]) -> None:
        """`first` is shown until the first poll."""
        self._console = console
        self._first = first
        self._line = line
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(self._first, console=self._console, transient=True, auto_refresh=False)
            self._live.start()
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
        last = time.monotonic()
        pause = POLL_SECONDS
        while not self._stop.wait(pause):
            polled = time.monotonic()
            try:
                line = self._line()
            except (OSError, WinnowError):  # display only: the work itself reports errors of its store
                continue
            finally:
                pause = max(POLL_SECONDS, 10 * (time.monotonic() - polled))  # polls a large store less often
            if self._live:
                self._live.update(line, refresh=True)
            elif time.monotonic() - last >= PLAIN_SECONDS:
                last = time.monotonic()
                self._console.print(line, soft_wrap=True)
