"""The commits of ingest tasks, kept as JSON as in a manifest: a commit becomes an object when it is asked for.

A store has about a task for each shard, and a commit as an object takes three times the memory of its JSON.
"""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Self, overload

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.store.hash_set import HashSet
from winnow.schemas.records import TaskCommit, from_json, to_json

TASKS = pa.schema([pa.field("task", pa.string(), nullable=False), pa.field("commit", pa.string(), nullable=False)])
"""The columns of a manifest of tasks."""

_AT_ONCE = 512  # commits that are parsed at the same time
_KEPT = pa.schema([*TASKS, pa.field("key", pa.string()), pa.field("source", pa.string())])


class _Group(msgspec.Struct):
    """The fields of a commit that tasks are chosen by."""

    key: str
    source: str


class TaskCommits(Sequence[TaskCommit]):
    """Commits of ingest tasks without their layers, ordered by name and key."""

    def __init__(self, kept: pa.Table) -> None:
        """`kept`: ordered commits, as `of_batches` makes them."""
        self._kept = kept

    @classmethod
    def of_batches(cls, batches: Iterable[pa.RecordBatch]) -> Self:
        """The commits of a stored manifest, which is ordered."""
        kept = (_kept(batch.slice(at, _AT_ONCE)) for batch in batches for at in range(0, len(batch), _AT_ONCE))
        return cls(pa.Table.from_batches(kept, _KEPT))

    @classmethod
    def of(cls, commits: Iterable[TaskCommit]) -> "TaskCommits":
        """These commits, in any order."""
        left = iter(commits)
        some = iter(lambda: list(itertools.islice(left, _AT_ONCE)), [])
        return cls.of_batches(map(_as_stored, some))._ordered()

    @classmethod
    def joined(cls, parts: Iterable["TaskCommits"]) -> "TaskCommits":
        """The commits of all parts."""
        some = [part for part in parts if len(part)]
        if len(some) == 1:
            return some[0]
        return cls(pa.concat_tables([_KEPT.empty_table(), *(part._kept for part in some)]))._ordered()

    def _ordered(self) -> "TaskCommits":
        order = pc.sort_indices(self._kept, [("task", "ascending"), ("key", "ascending")]).to_numpy().astype(np.int64)
        return self if bool((np.diff(order) > 0).all()) else TaskCommits(self._kept.take(pa.array(order)))

    @property
    def names(self) -> list[str]:
        """The name of each task."""
        found: list[str] = self._kept["task"].to_pylist()
        return found

    @property
    def key_of_source(self) -> dict[str, str]:
        """The key of each source; the tasks of a source have one."""
        return {source: key for key, source in sorted(self._groups)}

    @property
    def _groups(self) -> set[tuple[str, str]]:
        """Each key with its sources."""
        found = self._kept.group_by(["key", "source"]).aggregate([]).to_pylist()
        return {(one["key"], one["source"]) for one in found}

    def read_by(self, keys: Mapping[str, str]) -> "TaskCommits":
        """The tasks that have the key of their source."""
        pairs = zip(self._kept["source"].to_pylist(), self._kept["key"].to_pylist(), strict=True)
        return self._where(keys.get(source) == key for source, key in pairs)

    def under(self, keys: Container[str]) -> "TaskCommits":
        """The tasks that have one of these keys."""
        return self._where(key in keys for key in self._kept["key"].to_pylist())

    def called(self, names: Container[str]) -> "TaskCommits":
        """The tasks that have one of these names."""
        return self._where(name in names for name in self._kept["task"].to_pylist())

    def without(self, names: Container[str]) -> "TaskCommits":
        """The tasks that have none of these names."""
        return self._where(name not in names for name in self._kept["task"].to_pylist())

    def unlike(self, others: "TaskCommits") -> Iterator[TaskCommit]:
        """The commits that are not among the others."""
        if self != others:
            known = HashSet(others._raw())
            yield from (_commit(raw) for raw in self._raw() if raw not in known)

    def stored(self) -> Iterator[pa.RecordBatch]:
        """The commits as a manifest stores them."""
        yield from self._kept.select(TASKS.names).cast(TASKS).to_batches(_AT_ONCE)

    def __len__(self) -> int:
        return int(self._kept.num_rows)

    def __iter__(self) -> Iterator[TaskCommit]:
        return map(_commit, self._raw())

    def _raw(self) -> Iterator[str]:
        for at in range(0, len(self), _AT_ONCE):
            yield from self._kept["commit"].slice(at, _AT_ONCE).to_pylist()

    @overload
    def __getitem__(self, at: int) -> TaskCommit: ...
    @overload
    def __getitem__(self, at: slice) -> "TaskCommits": ...
    def __getitem__(self, at: int | slice) -> "TaskCommit | TaskCommits":
        if isinstance(at, slice):
            return TaskCommits(self._kept.take(pa.array(np.arange(len(self))[at])))
        return _commit(self._kept["commit"][at].as_py())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskCommits) and self._kept.equals(other._kept)

    __hash__ = None  # type: ignore[assignment]

    def _where(self, wanted: Iterable[bool]) -> "TaskCommits":
        mask = np.fromiter(wanted, np.bool_, len(self))
        return self if mask.all() else TaskCommits(self._kept.filter(pa.array(mask)).combine_chunks())


def _as_stored(commits: Sequence[TaskCommit]) -> pa.RecordBatch:
    names = [commit.task for commit in commits]
    raw = [to_json(commit.without_layers).decode() for commit in commits]
    return pa.RecordBatch.from_pydict({"task": names, "commit": raw}, schema=TASKS)


def _kept(stored: pa.RecordBatch) -> pa.RecordBatch:
    groups = [_group(raw) for raw in stored["commit"].to_pylist()]
    keys, sources = ([group.key for group in groups], [group.source for group in groups])
    return pa.RecordBatch.from_arrays([*stored.columns, pa.array(keys), pa.array(sources)], schema=_KEPT)


def _group(raw: str) -> "_Group | TaskCommit":
    try:
        return msgspec.json.decode(raw, type=_Group)
    except msgspec.DecodeError:
        return _commit(raw)  # says what is wrong


def _commit(raw: str) -> TaskCommit:
    return from_json(TaskCommit, raw.encode(), "a task's commit")
