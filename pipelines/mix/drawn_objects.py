"""Which object has the draw of each shard: a table beside a plan, kept as columns.

A plan has a line for each shard that it draws from. A line becomes an object when it is asked for, and is not kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Self, overload

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import put_list, read_list

DRAWN_OBJECTS = pa.schema(
    [
        pa.field("shard", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("object", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
    ]
)
"""The columns of the table."""

_AT_ONCE = 2_048  # lines that are objects at the same time


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """The draw of one shard."""

    shard: str
    source: str
    object: str
    rows: int  # of the draw


class DrawnObjects(Sequence[DrawnObject]):
    """The draws of shards with drawn rows, sorted by name."""

    def __init__(self, kept: pa.Table) -> None:
        self._kept = kept

    @classmethod
    def of(cls, draws: Iterable[DrawnObject]) -> Self:
        """These draws, in their order."""
        left = iter(draws)
        return cls(_table(map(_batch, iter(lambda: list(islice(left, _AT_ONCE)), []))))

    @classmethod
    def read(cls, objects: ObjectStore, path: str) -> Self:
        """The draws that a table lists."""
        return cls(_table(read_list(objects, path)))

    def put(self, objects: ObjectStore, request: str) -> str:
        """Store the table; return its path."""
        batches = self._kept.to_batches(_AT_ONCE)
        return put_list(objects, DRAWN_OBJECTS, batches, lambda content: layout.plan_draws(request, content)).path

    def __len__(self) -> int:
        return int(self._kept.num_rows)

    def __iter__(self) -> Iterator[DrawnObject]:
        return chain.from_iterable(map(_drawn, self._kept.to_batches(_AT_ONCE)))

    @overload
    def __getitem__(self, at: int) -> DrawnObject: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[DrawnObject]: ...
    def __getitem__(self, at: int | slice) -> DrawnObject | Sequence[DrawnObject]:
        if isinstance(at, slice):
            return [self[number] for number in range(len(self))[at]]
        return next(_drawn(self._kept.slice(range(len(self))[at], 1).to_batches()[0]))


def _table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, DRAWN_OBJECTS).combine_chunks()


def _batch(draws: Sequence[DrawnObject]) -> pa.RecordBatch:
    columns = {name: [getattr(draw, name) for draw in draws] for name in DRAWN_OBJECTS.names}
    return pa.RecordBatch.from_pydict(columns, schema=DRAWN_OBJECTS)


def _drawn(batch: pa.RecordBatch) -> Iterator[DrawnObject]:
    return map(DrawnObject, *(batch[name].to_pylist() for name in DRAWN_OBJECTS.names))
