"""Draws as exports use them: the plan, and the rows that it takes from each shard."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.mix.drawn_objects import DrawnObject
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.schemas.mixture import MixturePlan

_COPIES = 1 << 18  # at once: a row may be repeated thousands of times


@dataclass(frozen=True, slots=True)
class DrawnShard(TaskLine):
    """A shard with at least one drawn sample."""

    shard: str
    source: str
    draw: str  # the object with its drawn rows for all outputs (`winnow.schemas.rows.draws.DRAW`)
    objects: Mapping[str, str]  # of samples, texts and spans of edits, by layer
    rows: int  # of the shard, drawn or not
    drawn: int  # rows of the draw; copies are not counted


@dataclass(frozen=True)
class Draw:
    """The result of a plan, by shards of the store."""

    plan: MixturePlan
    shards: Sequence[DrawnShard]


class DrawnShards(Sequence[DrawnShard]):
    """The shards of a draw, each made when it is asked for: they are soonest made one after another."""

    def __init__(self, draws: Sequence[DrawnObject], layers: Mapping[str, Mapping[str, ManifestRow]]) -> None:
        """`layers`: the objects that exports read, by layer and shard."""
        self._draws = draws
        self._layers = layers

    def __len__(self) -> int:
        return len(self._draws)

    def __iter__(self) -> Iterator[DrawnShard]:
        return map(self._shard, self._draws)

    @overload
    def __getitem__(self, at: int) -> DrawnShard: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[DrawnShard]: ...
    def __getitem__(self, at: int | slice) -> DrawnShard | Sequence[DrawnShard]:
        return list(map(self._shard, self._draws[at])) if isinstance(at, slice) else self._shard(self._draws[at])

    def _shard(self, drawn_object: DrawnObject) -> DrawnShard:
        rows = {layer: found[drawn_object.shard] for layer, found in self._layers.items()}
        objects = {layer: row.object for layer, row in rows.items()}
        return DrawnShard(
            drawn_object.shard,
            drawn_object.source,
            drawn_object.object,
            objects,
            rows[layout.SAMPLES].rows,
            drawn_object.rows,
        )


def copies_of(batch: pa.RecordBatch) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16]]]:
    """Yield the copies of drawn rows in batches: for each copy, its row number in the batch and its copy number."""
    first, copies = batch["first"].to_numpy(), batch["copies"].to_numpy().astype(np.int64)
    ends = np.cumsum(copies)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, _COPIES):
        places = np.arange(start, min(start + _COPIES, total))
        rows = np.searchsorted(ends, places, side="right")
        yield rows, (first[rows] + (places - (ends[rows] - copies[rows]))).astype(np.uint16)
