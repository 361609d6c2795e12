"""Live progress of the search for duplicates: its current step, and how many partitions are done.

For display only: nothing depends on it.
"""

import time
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.running.step_beats import steps_done
from winnow.runners.terminal.status_line import StatusLine


class DedupeProgress:
    """Shows the progress of a search from the workers' heartbeats."""

    def __init__(self, search: Search, steps: Mapping[str, int]) -> None:
        """`steps`: the maximum number of partitions of each step, in order."""
        self._search = search
        self._steps = dict(steps)
        self._started = time.monotonic()

    def shown(self, console: Console) -> StatusLine:
        """The status line, shown while the search runs."""
        return StatusLine(console, self.line({}), self._poll)

    def line(self, done: Mapping[str, int]) -> Text:
        """The line for the current step: the last one begun, including rounds of star contraction."""
        seconds = time.monotonic() - self._started
        begun = [step for step in self._steps if step in done]
        rounds = [step for step in done if step not in self._steps]
        at = begun[-1] if begun else next(iter(self._steps))
        if rounds and at == "Forests":
            at = rounds[-1]
        most = f"/{self._steps[at]:,}" if at in self._steps else ""
        return Text(f"{'dedupe':<16}  {at}  {done.get(at, 0):,}{most} parts  {seconds:.0f} s")

    def _poll(self) -> Text:
        return self.line(steps_done(self._search.store.objects, self._search.scratch))
