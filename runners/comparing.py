"""Live progress of a search for duplicates: which step it is at, and how many of its partitions are done.

Nothing is ever decided by what is shown here.
"""

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.scratch import steps_done
from winnow.runners.progress import PLAIN_SECONDS, POLL_SECONDS
from winnow.schemas.errors import WinnowError


class Comparing:
    """Shows a search while its pipelines run, from the beats of the workers."""

    def __init__(self, console: Console, search: Search, steps: Mapping[str, int]) -> None:
        """`steps`: the most partitions that each may have, in order."""
        self._console = console
        self._search = search
        self._steps = dict(steps)
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="comparing", daemon=True)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(self.line({}), console=self._console, transient=True, auto_refresh=False)
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

    def line(self, done: Mapping[str, int]) -> Text:
        """The step that the search is at: the last one that has begun, rounds of star contraction among them."""
        seconds = time.monotonic() - self._started
        begun = [step for step in self._steps if step in done]
        rounds = [step for step in done if step not in self._steps]
        at = begun[-1] if begun else next(iter(self._steps))
        if rounds and at == "Forests":
            at = rounds[-1]
        most = f"/{self._steps[at]:,}" if at in self._steps else ""
        return Text(f"{'dedupe':<16}  {at}  {done.get(at, 0):,}{most} parts  {seconds:.0f} s")

    def _watch(self) -> None:
        last = time.monotonic()
        pause = POLL_SECONDS
        while not self._stop.wait(pause):
            polled = time.monotonic()
            try:
                done = steps_done(self._search.store.objects, self._search.scratch)
            except (OSError, WinnowError):  # advisory: the search itself reports what is wrong with its store
                continue
            finally:
                pause = max(POLL_SECONDS, 10 * (time.monotonic() - polled))
            if self._live:
                self._live.update(self.line(done), refresh=True)
            elif time.monotonic() - last >= PLAIN_SECONDS:
                last = time.monotonic()
                self._console.print(self.line(done), soft_wrap=True)
