"""The ingest tasks of a source, kept as columns: a task becomes an object when it is asked for, and is not kept.

A source has about a task for each shard, and as objects a task and its file take ten times the memory.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.schemas.records import FilePart


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file, or part of one, that a task reads; `version` is from the listing when it was frozen."""

    part: FilePart
    version: str


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A unit of ingest: parts of one large file, or a batch of small files."""

    name: str
    source: str
    files: tuple[TaskFile, ...]

    @property
    def bytes(self) -> int:
        """How many bytes of its files the task reads."""
        return sum(file.part.end - file.part.start for file in self.files)


PARTS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
    ]
)
"""A row for each file of each task."""

_AT_ONCE = 1_024  # tasks that are objects, or become columns, at the same time


class IngestTasks(Sequence[IngestTask]):
    """Tasks of one source, each of which has a file."""

    def __init__(self, source: str, parts: pa.Table) -> None:
        """`parts`: rows of `PARTS`; those of a task follow one another."""
        self._source = source
        self.parts = parts

    @classmethod
    def of(cls, source: str, tasks: Iterable[IngestTask]) -> "IngestTasks":
        """These tasks, in this order."""
        left = iter(tasks)
        some = iter(lambda: list(itertools.islice(left, _AT_ONCE)), [])
        return cls(source, pa.Table.from_batches(map(_batch, some), PARTS).combine_chunks())

    @classmethod
    def joined(cls, source: str, parts: Iterable[pa.Table]) -> "IngestTasks":
        """The tasks of all these rows, ordered by name."""
        rows = pa.concat_tables([PARTS.empty_table(), *parts]).combine_chunks()
        order = pc.sort_indices(rows["task"]).to_numpy().astype(np.int64)  # stable: a task's files keep their order
        return cls(source, rows if bool((np.diff(order) > 0).all()) else rows.take(pa.array(order)).combine_chunks())

    @property
    def names(self) -> Iterator[str]:
        """The name of each task."""
        for at in range(0, len(self), _AT_ONCE):
            yield from self.parts["task"].take(pa.array(self._starts[at : at + _AT_ONCE])).to_pylist()

    @property
    def bytes(self) -> NDArray[np.int64]:
        """How many bytes each task reads."""
        read = pc.subtract(self.parts["end"], self.parts["start"]).to_numpy()
        return np.add.reduceat(read, self._starts) if len(self) else np.zeros(0, np.int64)

    @property
    def cut(self) -> NDArray[np.bool_]:
        """Whether each task reads part of a file, and not files as a whole."""
        first = self.parts.take(pa.array(self._starts))
        part = pc.or_(pc.not_equal(first["start"], 0), pc.less(first["end"], first["size"]))
        found: NDArray[np.bool_] = part.to_numpy()
        return found

    def with_any(self, parts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether it is true of a part of each task; one value for each of all parts."""
        return np.logical_or.reduceat(parts, self._starts) if len(self) else np.zeros(0, np.bool_)

    def where(self, wanted: Iterable[bool]) -> "IngestTasks":
        """The tasks for which it is true, one value a task."""
        mask = np.fromiter(wanted, np.bool_, len(self))
        return self if mask.all() else self._taken(np.flatnonzero(mask))

    def reading(self, paths: pa.ChunkedArray) -> "IngestTasks":
        """The tasks that read any of these files."""
        return self.where(self.with_any(pc.is_in(self.parts["path"], value_set=paths).to_numpy()))

    def largest_first(self) -> "IngestTasks":
        """The same tasks; those of one size by name."""
        by = pa.table({"bytes": self.bytes, "task": self.parts["task"].take(pa.array(self._starts))})
        order = pc.sort_indices(by, [("bytes", "descending"), ("task", "ascending")])
        return self._taken(order.to_numpy().astype(np.int64))

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[IngestTask]:
        for at in range(0, len(self), _AT_ONCE):
            yield from self._tasks(at, min(at + _AT_ONCE, len(self)))

    @overload
    def __getitem__(self, at: int) -> IngestTask: ...
    @overload
    def __getitem__(self, at: slice) -> "IngestTasks": ...
    def __getitem__(self, at: int | slice) -> "IngestTask | IngestTasks":
        numbers = range(len(self))[at]
        if isinstance(numbers, int):
            return next(self._tasks(numbers, numbers + 1))
        return self._taken(np.array(numbers, np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IngestTasks) and self._source == other._source and self.parts.equals(other.parts)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where the parts of each task begin."""
        names = self.parts["task"]
        if not len(names):
            return np.zeros(0, np.int64)
        other = pc.not_equal(names.slice(1), names.slice(0, len(names) - 1)).to_numpy()
        return np.concatenate([[0], np.flatnonzero(other) + 1]).astype(np.int64)

    def _taken(self, tasks: NDArray[np.int64]) -> "IngestTasks":
        starts, counts = self._starts[tasks], np.diff(self._starts, append=len(self.parts))[tasks]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        parts = self.parts.take(pa.array(np.repeat(starts, counts) + within, pa.int64()))
        return IngestTasks(self._source, parts.combine_chunks())

    def _tasks(self, start: int, end: int) -> Iterator[IngestTask]:
        first, last = self._starts[start], self._starts[end] if end < len(self) else len(self.parts)
        columns = [column.to_pylist() for column in self.parts.slice(first, last - first).columns]
        for name, rows in itertools.groupby(zip(*columns, strict=True), key=lambda row: row[0]):
            files = (
                TaskFile(FilePart(path, size, begin, stop), version) for _, path, size, version, begin, stop in rows
            )
            yield IngestTask(name, self._source, tuple(files))


def _batch(tasks: Sequence[IngestTask]) -> pa.RecordBatch:
    rows = (
        (task.name, file.part.path, file.part.size, file.version, file.part.start, file.part.end)
        for task in tasks
        for file in task.files
    )
    columns = map(list, zip(*rows, strict=True))
    return pa.RecordBatch.from_pydict(dict(zip(PARTS.names, columns, strict=True)), schema=PARTS)
