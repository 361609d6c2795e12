"""Progress of a probe: the current run, its speed, and the time left."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.tables import is_plain
from winnow.scoring.probe.grid import Run
from winnow.scoring.probe.streams import VOCABULARY

REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 30.0


def run_cost(run: Run, tokens: int, vocabulary: int = VOCABULARY) -> float:
    """The relative cost of a run's tokens, used to estimate the time left."""
    return float(tokens) * (run.shape.parameters + vocabulary * run.shape.width)


class ProbeProgress:
    """A status line, redrawn on a terminal and printed at intervals elsewhere."""

    def __init__(
        self, console: Console, runs: tuple[Run, ...], todo: tuple[Run, ...], vocabulary: int = VOCABULARY
    ) -> None:
        self._console, self._all, self._vocabulary = console, len(runs), vocabulary
        self._left = sum(run_cost(run, run.d, vocabulary) for run in todo)
        self._number = len(runs) - len(todo)
        self._done = 0.0  # by this process
        self._tokens = 0
        self._started = self._shown = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal and not is_plain(self._console):
            self._live = Live(Text(""), console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def begin(self, run: Run, step: int) -> None:
        """Start a run, or resume it at a step."""
        self._number += 1
        self._left -= run_cost(run, step * run.schedule.step_tokens, self._vocabulary)

    def step_done(self, run: Run, name: str, step: int) -> None:
        """Report a finished step."""
        tokens = run.schedule.step_tokens
        self._tokens += tokens
        self._done += run_cost(run, tokens, self._vocabulary)
        now = time.monotonic()
        if now - self._shown < (REFRESH_SECONDS if self._live else PLAIN_SECONDS):
            return
        self._shown = now
        line = self._line(run, name, step, now - self._started)
        if self._live:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
        else:
            self._console.print(line, soft_wrap=True, markup=False)

    def _line(self, run: Run, name: str, step: int, seconds: float) -> str:
        left = seconds * (self._left - self._done) / self._done
        return "  ".join(
            (
                f"run {self._number} of {self._all}",
                f"step {grouped(step)} of {grouped(run.steps)}",
                f"{grouped(round(self._tokens / seconds))} tokens/s",
                f"{clock(left)} left",
                name,
            )
        )


def clock(seconds: float) -> str:
    """`12:05 min`, `3:20 h`."""
    whole = max(0, int(seconds))
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02} h"
    return f"{whole // 60}:{whole % 60:02} min"
