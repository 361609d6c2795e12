"""Live progress of a stage on any engine, from commit records and the heartbeats of running tasks.

For display only: nothing depends on it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

import orjson
from rich.console import Console

from winnow.pipelines.running.worker import heartbeat_seconds
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import parse_commit
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.counts import count_of
from winnow.schemas.records import LayersCommit, TaskCommit

SHOWN_SOURCES = 3


@dataclass(frozen=True, slots=True)
class TaskInput:
    """What is known of a task's input before it runs."""

    source: str
    bytes: int = 0
    rows: int = 0


@dataclass(slots=True)
class Tally:
    """What a stage has processed since it started."""

    tasks: int = 0
    rows: int = 0
    bytes: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)


class StageProgress:
    """Shows a stage while its pipeline runs: tasks, rows/s, bytes/s, time left, sources, dropped rows and reasons."""

    def __init__(
        self,
        console: Console,
        objects: ObjectStore,
        stage: str,
        tasks: Mapping[str, str],
        inputs: Mapping[str, TaskInput],
        note: Callable[[TaskCommit | LayersCommit], None],
    ) -> None:
        """Waits for tasks.

        `tasks`: the path of each expected commit, by task name; `inputs`: each task's input, if known; `note`: takes
        over each commit, so that it is read once.
        """
        self._console = console
        self._objects = objects
        self._stage = stage
        self._awaited = {path: name for name, path in tasks.items()}
        self._prefixes = sorted({prefix_of(path) for path in tasks.values()})
        self._inputs = inputs
        self._note = note
        self._total = len(tasks)
        self._total_bytes = sum(one.bytes for one in inputs.values())
        self._total_rows = sum(one.rows for one in inputs.values())
        self._tally = Tally()
        self._started = time.monotonic()
        self._watched = StatusLine(console, self._status(Tally(), ()), self._poll, heartbeat_seconds(objects))

    def __enter__(self) -> Self:
        self._watched.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watched.__exit__(kind, error, trace)
        if kind is None:
            self._collect()
            seconds = time.monotonic() - self._started
            line = replace(self._status(Tally(), ()), share=None).line(f"{seconds:.1f} s")
            self._console.print(line)

    def _poll(self) -> Status:
        self._collect()
        return self._status(*self._running())

    def _collect(self) -> None:
        for prefix in self._prefixes:
            fresh = [info.path for info in self._objects.list(prefix) if info.path in self._awaited]
            read = map_objects(self._objects, self._objects.read, fresh)
            for path, raw in zip(fresh, read, strict=True):
                commit = parse_commit(self._objects, path, raw)
                self._note(commit)
                self._count(self._awaited.pop(path), commit)

    def _count(self, name: str, commit: TaskCommit | LayersCommit) -> None:
        tally = self._tally
        tally.tasks += 1
        tally.bytes += self._inputs[name].bytes if name in self._inputs else 0
        if isinstance(commit, LayersCommit):
            tally.rows += commit.layers[0].object.rows
        else:
            tally.rows += commit.kept
            tally.dropped.update(commit.dropped_by_reason)
            tally.quarantined.update(commit.quarantined_by_reason)

    def _running(self) -> tuple[Tally, tuple[str, ...]]:
        """What running tasks have done so far, and their sources."""
        running, sources = Tally(), set()
        for prefix in self._prefixes:
            for info in self._objects.list(layout.heartbeat(prefix)):
                name = self._awaited.get(layout.commit_of_heartbeat(info.path))
                if name is None:
                    continue
                try:
                    heartbeat = orjson.loads(self._objects.read(info.path))
                except (FileNotFoundError, orjson.JSONDecodeError):
                    continue
                running.rows += int(heartbeat["rows"])
                running.bytes += int(heartbeat["bytes"])
                if name in self._inputs:
                    sources.add(self._inputs[name].source)
        return running, tuple(sorted(sources))

    def _status(self, running: Tally, sources: tuple[str, ...]) -> Status:
        tally = self._tally
        seconds = max(time.monotonic() - self._started, 1e-3)
        rows, done = tally.rows + running.rows, tally.bytes + running.bytes
        facts = [f"{tally.tasks:,}/{self._total:,} tasks", count_of(rows, "row"), f"{rows / seconds:,.0f} rows/s"]
        if self._total_bytes:
            facts.append(f"{done / seconds / 1e6:,.1f} MB/s")
        more = [f"in {', '.join(sources[:SHOWN_SOURCES])}{', …' if sources[SHOWN_SOURCES:] else ''}"] if sources else []
        for word, counter in (("dropped", tally.dropped), ("quarantined", tally.quarantined)):
            if counter:
                more.append(f"{word} {counter.total():,} ({ranked_reasons(counter)})")
        return Status(self._stage, tuple(facts), self._share(rows, done), tuple(more))

    def _share(self, rows: int, done: int) -> float:
        """By bytes or rows if they are known; only when all tasks are committed is it all."""
        if self._tally.tasks == self._total:
            return 1.0
        for part, whole in ((done, self._total_bytes), (rows, self._total_rows), (self._tally.tasks, self._total)):
            if whole:
                return min(part / whole, 0.99)
        return 0.0


def inputs_of(samples: Iterable[ManifestRow]) -> dict[str, TaskInput]:
    """The inputs of tasks that read a shard each."""
    return {row.shard: TaskInput(row.source, rows=row.rows) for row in samples}


def prefix_of(commit: str) -> str:
    """The prefix to list to find a commit."""
    return commit.rpartition("/")[0] + "/"


def ranked_reasons(counter: Mapping[str, int]) -> str:
    """The most frequent reasons with their counts."""
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    shown: Iterable[str] = (f"{reason} {count:,}" for reason, count in ranked[:4])
    return ", ".join(shown) + (", …" if len(ranked) > 4 else "")
