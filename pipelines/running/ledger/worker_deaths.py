"""Marks the row that a worker processes, records rows whose worker died, and excludes them after three deaths (law 9).

While a worker processes a record, it says so in a small memory-mapped file of the driver's. A worker that dies leaves
the mark, which the driver records as a strike. A task with a strike is read one row at a time, so that the next mark
names the exact row. Only a worker's death under a living driver counts: one that was stopped with its driver, or by an
error, says nothing about its row.
"""

import mmap
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record_if_absent, read_record
from winnow.schemas.identity import digest

MARKS_VARIABLE = "WINNOW_MARKS"
STRIKES = 3
_MARK_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a record."""

    path: str
    offset: int
    member: int


@dataclass(frozen=True, slots=True)
class Mark:
    """The record that a worker was processing."""

    source: str
    task: str
    position: Position
    doing: str = ""  # the operator that measured it, if one did


class Marker:
    """Marks the record that a task is processing. Does nothing without a driver that reads marks."""

    def __init__(self, source: str, task: str) -> None:
        self._source = source
        self._task = task
        self._memory: mmap.mmap | None = None
        self._place: tuple[str, ...] = ()
        folder = os.environ.get(MARKS_VARIABLE)
        if folder:
            self._file = Path(folder) / digest(os.getpid(), source, task, size=8).hex()
            self._file.write_bytes(bytes(_MARK_BYTES))
            with open(self._file, "r+b") as stream:
                self._memory = mmap.mmap(stream.fileno(), _MARK_BYTES)

    def at(self, path: str, offset: int, member: int) -> None:
        """Marks this record as the one being processed."""
        self._place = (self._source, self._task, path, str(offset), str(member))
        self.doing("")

    def doing(self, what: str) -> None:
        """Marks what is done with the record."""
        if self._memory is not None:
            raw = b"\0".join(part.encode() for part in (*self._place, what))
            if len(raw) < _MARK_BYTES:
                self._memory[: len(raw) + 1] = raw + b"\n"

    def clear(self) -> None:
        """Clears the mark when the task ends, except by death."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
            self._file.unlink(missing_ok=True)


def read_marks(folder: Path) -> list[Mark]:
    """The marks of workers that died, and of those stopped with them."""
    found = []
    for file in sorted(folder.iterdir()):
        parts = file.read_bytes().partition(b"\n")[0].decode().split("\0")
        if len(parts) == 6:
            source, task, path, offset, member, doing = parts
            found.append(Mark(source, task, Position(path, int(offset), int(member)), doing))
        file.unlink()
    return found


def record_deaths(objects: ObjectStore, marks: Iterable[Mark]) -> list[Mark]:
    """Records each mark; returns those of records that are now excluded."""
    condemned = []
    for mark in marks:
        prefix = f"{layout.STRIKES}{mark.source}/{mark.task}/"
        number = sum(1 for _ in objects.list(prefix))
        put_record_if_absent(objects, f"{prefix}{number:04d}.json", mark.position)
        struck = Counter(read_record(objects, Position, info.path) for info in objects.list(prefix))
        if struck[mark.position] >= STRIKES:
            name = digest(mark.position.path, mark.position.offset, mark.position.member, size=8).hex()
            put_record_if_absent(objects, f"{layout.POISON}{mark.source}/{name}.json", mark.position)
            condemned.append(mark)
    return condemned


def has_killed_worker(objects: ObjectStore, source: str, task: str) -> bool:
    """Whether a worker has died on this task before; it is then read one row at a time."""
    return any(True for _ in objects.list(f"{layout.STRIKES}{source}/{task}/"))


def excluded_positions(objects: ObjectStore, source: str) -> frozenset[Position]:
    """The excluded records of a source."""
    listed = objects.list(f"{layout.POISON}{source}/")
    return frozenset(read_record(objects, Position, info.path) for info in listed)
