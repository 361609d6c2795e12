"""The shards that the tasks of a job cover, by number: a list in the store, which each worker process reads once.

Rows that are forgotten while the job runs stay part of it: which rows are hidden is fixed with the list, so that all
tasks see the same rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.pipelines.running.tasks import line_of, put_task_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.scans import READERS, Hiding
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.state import StoreState
from winnow.schemas.rows.extraction import EXTRACTED

MAX_SHARD_GROUPS = 4096
"""The shards of a large store are put into at most this many groups, so that tasks send fewer and larger blocks."""

HIDDEN = pa.schema([pa.field("row", pa.int64(), nullable=False)])
"""The forgotten rows of a shard, ascending."""

_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class ListedShard:
    """A shard, and the object of each layer that the job reads of it."""

    shard: str
    source: str
    rows: int
    objects: Mapping[str, str]
    hidden: int = 0  # number of forgotten rows; the scratch folder lists them


Listed = TypeVar("Listed", bound=ListedShard)


@dataclass(frozen=True)
class ShardList(Generic[Listed]):
    """A list of shards, sorted by name. Picklable."""

    objects: ObjectStore
    path: str  # the object that lists the shards
    scratch: str
    kind: type[Listed]
    most_groups: int = MAX_SHARD_GROUPS

    @property
    def all(self) -> Sequence[Listed]:
        """Every shard, by number."""
        known = _last_lists.get((self.objects.root, self.path))
        if known is None:
            known = _Lines(read_content(self.objects, self.path), self.kind)
            while len(_last_lists) > 1:
                del _last_lists[next(iter(_last_lists))]
            _last_lists[self.objects.root, self.path] = known
        return known

    @property
    def groups(self) -> int:
        """The number of shard groups: ranges of shards that one task handles."""
        return min(len(self.all), self.most_groups)

    def group_of(self, shards: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard group of each shard number."""
        return shards * self.groups // len(self.all)

    def in_group(self, group: int) -> range:
        """Return the numbers of the shards in a shard group."""
        count = len(self.all)
        return range(-(-group * count // self.groups), -(-(group + 1) * count // self.groups))

    def hidden(self, shard: int) -> NDArray[np.int64] | None:
        """Return the forgotten rows of a shard, ascending; None if there are none."""
        if not self.all[shard].hidden:
            return None
        found: NDArray[np.int64] = read_part(self.objects, self.scratch, "hidden", shard)["row"].to_numpy()
        return found

    def read(self, shard: int, columns: list[Column]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Yield batches of a shard's columns, each with the number of its first row; forgotten rows are redacted."""
        at = 0
        for batch in read_aligned(self.objects, self.all[shard].objects, columns, _BATCH_ROWS, self.hidden(shard)):
            yield at, batch
            at += len(next(iter(batch.values())))


class _Lines(Sequence[Listed]):
    """A stored list of shards: each becomes an object on request."""

    def __init__(self, raw: bytes, kind: type[Listed]) -> None:
        self._raw = raw
        self._kind = kind
        ends = np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n"))
        self._ends = np.append(ends, len(raw)) if raw else ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Listed: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Listed]: ...
    def __getitem__(self, at: int | slice) -> Listed | Sequence[Listed]:
        if isinstance(at, slice):
            return [self[number] for number in range(len(self))[at]]
        number = range(len(self))[at]
        start = int(self._ends[number - 1]) + 1 if number else 0
        return msgspec.json.decode(self._raw[start : int(self._ends[number])], type=self._kind)


_last_lists: dict[tuple[str, str], _Lines[Any]] = {}  # the two that this process read last, as tasks may compare two


def put_shard_list(objects: ObjectStore, stage: str, shards: Iterable[Listed], folder: str = layout.TASK_LISTS) -> str:
    """Store a list of shards; return its path."""
    return put_task_list(objects, stage, map(line_of, shards), folder)


def delete_shard_list(objects: ObjectStore, path: str) -> None:
    """Delete a list, also from this process's memory."""
    _last_lists.pop((objects.root, path), None)
    objects.delete(path)


def put_hidden_rows(
    objects: ObjectStore, scratch: str, shards: list[Listed], rows_of: Callable[[Listed], NDArray[np.int64]]
) -> list[Listed]:
    """Store the forgotten rows of each shard in a scratch folder; return the shards with their number."""

    def put(number: int, shard: Listed) -> Listed:
        rows = rows_of(shard)
        if not len(rows):
            return shard
        put_part(objects, scratch, "hidden", number, pa.RecordBatch.from_arrays([pa.array(rows)], schema=HIDDEN))
        return replace(shard, hidden=len(rows))

    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(put, range(len(shards)), shards))


def put_hidden_rows_of(
    objects: ObjectStore, scratch: str, shards: Iterable[Listed], state: StoreState, hiding: Hiding
) -> Iterable[Listed]:
    """The same for the rows that tombstones hide."""
    if not hiding:
        return shards
    texts: dict[str, list[str]] = {}
    for layer in sorted(state.layers):
        if layer.startswith(EXTRACTED):
            for row in state.layers[layer]:
                texts.setdefault(row.shard, []).append(row.object)
    samples = state.samples
    return put_hidden_rows(
        objects,
        scratch,
        list(shards),
        lambda one: hiding.of(objects, samples[one.shard], texts.get(one.shard, ())).rows,
    )
