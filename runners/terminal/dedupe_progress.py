"""Live progress of a search for duplicates: which step it is at, and how many of its partitions are done.

Nothing is ever decided by what is shown here.
"""

import time
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.running.step_beats import steps_done
from winnow.runners.terminal.status_line import WatchedLine


class Comparing:
    """Says where a search is, from the beats of the workers."""

    def __init__(self, search: Search, steps: Mapping[str, int]) -> None:
        """`steps`: the most partitions that each may have, in order."""
        self._search = search
        self._steps = dict(steps)
        self._started = time.monotonic()

    def shown(self, console: Console) -> WatchedLine:
        """The line, for as long as the search runs."""
        return WatchedLine(console, self.line({}), self._looked)

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

    def _looked(self) -> Text:
        return self.line(steps_done(self._search.store.objects, self._search.scratch))
