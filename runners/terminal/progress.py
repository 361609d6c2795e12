"""Live progress of a stage on any engine, from commit records and the heartbeats of running tasks.

For display only: nothing depends on it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import orjson
from rich.console import Console
from rich.text import Text

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import parse_commit
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.together import each
from winnow.runners.terminal.status_line import StatusLine
from winnow.schemas.records import LayersCommit, TaskCommit


@dataclass(slots=True)
class Tally:
    """What a stage has processed since it started."""

    shards: int = 0
    rows: int = 0
    bytes: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)


class StageProgress:
    """Shows a stage while its pipeline runs: shards, rows/s, bytes/s, time left, dropped rows and their reasons."""

    def __init__(
        self,
        console: Console,
        objects: ObjectStore,
        stage: str,
        tasks: Mapping[str, str],
        sizes: Mapping[str, int],
        note: Callable[[TaskCommit | LayersCommit], None],
    ) -> None:
        """Waits for tasks.

        Args:
            console: Where they are shown.
            objects: The store.
            stage: Its name, to be shown.
            tasks: The path of each expected commit, by the task's name.
            sizes: The bytes of the input of tasks, if known.
            note: Takes over each commit: it is read once.
        """
        self._console = console
        self._objects = objects
        self._stage = stage
        self._awaited = {path: name for name, path in tasks.items()}
        self._prefixes = sorted({prefix_of(path) for path in tasks.values()})
        self._sizes = sizes
        self._note = note
        self._total = len(tasks)
        self._total_bytes = sum(sizes.values())
        self._tally = Tally()
        self._started = time.monotonic()
        self._watched = StatusLine(console, self._line(Tally()), self._poll)

    def __enter__(self) -> Self:
        self._watched.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watched.__exit__(kind, error, trace)
        if kind is None:
            self._collect()
            self._console.print(self._line(Tally()), soft_wrap=True)

    def _poll(self) -> Text:
        self._collect()
        return self._line(self._running())

    def _collect(self) -> None:
        for prefix in self._prefixes:
            fresh = [info.path for info in self._objects.list(prefix) if info.path in self._awaited]
            read = each(self._objects, self._objects.read, fresh)
            for path, raw in zip(fresh, read, strict=True):
                commit = parse_commit(self._objects, path, raw)
                self._note(commit)
                self._count(self._awaited.pop(path), commit)

    def _count(self, name: str, commit: TaskCommit | LayersCommit) -> None:
        tally = self._tally
        tally.shards += 1
        tally.bytes += self._sizes.get(name, 0)
        if isinstance(commit, LayersCommit):
            tally.rows += commit.layers[0].object.rows
        else:
            tally.rows += commit.kept
            tally.dropped.update(commit.dropped_by_reason)
            tally.quarantined.update(commit.quarantined_by_reason)

    def _running(self) -> Tally:
        running = Tally()
        for prefix in self._prefixes:
            for info in self._objects.list(layout.heartbeat(prefix)):
                if layout.commit_of_heartbeat(info.path) not in self._awaited:
                    continue
                try:
                    beat = orjson.loads(self._objects.read(info.path))
                except (FileNotFoundError, orjson.JSONDecodeError):
                    continue
                running.rows += int(beat["rows"])
                running.bytes += int(beat["bytes"])
        return running

    def _line(self, running: Tally) -> Text:
        tally = self._tally
        seconds = max(time.monotonic() - self._started, 1e-3)
        rows, done = tally.rows + running.rows, tally.bytes + running.bytes
        parts = [
            f"{self._stage:<16}",
            f"{tally.shards}/{self._total} tasks",
            f"{rows:,} rows",
            f"{rows / seconds:,.0f} rows/s",
        ]
        if self._total_bytes:
            parts.append(f"{done / seconds / 1e6:,.1f} MB/s")
        if tally.shards == self._total:
            parts.append(f"{seconds:.1f} s")
        elif self._total_bytes and done:
            left = seconds * (self._total_bytes - done) / done
            parts.append(f"{_clock(left)} left")
        for word, counter in (("dropped", tally.dropped), ("quarantined", tally.quarantined)):
            if counter:
                parts.append(f"{word} {counter.total():,} ({_reasons(counter)})")
        return Text("  ".join(parts), no_wrap=False)


def prefix_of(commit: str) -> str:
    """What to list to find a commit."""
    return commit.rpartition("/")[0] + "/"


def _reasons(counter: Counter[str]) -> str:
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    shown: Iterable[str] = (f"{reason} {count:,}" for reason, count in ranked[:4])
    return ", ".join(shown) + (", …" if len(ranked) > 4 else "")


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02d} h"
    return f"{whole // 60}:{whole % 60:02d} min"
