"""Reads one shard's rows in batches of bounded bytes, with what is known of each row beforehand.

A row that killed its worker is found by its task's mark (`ledger/worker_deaths`), so callers must measure each
batch before they request the next.
"""

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.running.ledger.worker_deaths import Marker, Position, excluded_positions, has_killed_worker
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import hidden_in
from winnow.pipelines.store.hiding.scans import load_hiding

BATCH_ROWS = 2048
BATCH_BYTES = 16 << 20  # of text; a larger batch is cut

_PLACE = tuple(Column(layout.SAMPLES, leaf) for leaf in ("source.path", "source.offset", "source.member"))


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard and the object of each layer to read."""

    shard: str
    source: str
    objects: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """Some rows of a shard."""

    columns: Mapping[str, pa.Array]  # by dotted name
    left_out: NDArray[np.bool_] | None  # rows that have killed workers; None if none
    forgotten: NDArray[np.bool_] | None  # rows hidden by a tombstone; None if none
    marker: Marker | None = None  # says which operator measures them, in case it kills its worker

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))


def read_parts(
    store: Store,
    stage: str,
    shard: Shard,
    columns: Sequence[Column],
    texts: Sequence[str],
    sizes: Callable[[Mapping[str, pa.Array]], NDArray[np.int64]] | None = None,
) -> Generator[Part]:
    """Yields the rows of a shard, forgotten ones redacted, while a mark names the row being processed.

    `stage`: the prefix of the caller's strikes and poison list, ending in a slash. `texts`: the columns whose bytes
    limit a batch; `sizes`: what else a row adds to a batch.
    """
    marker = Marker(f"{stage}{shard.source}", shard.shard)
    poison = excluded_positions(store.objects, f"{stage}{shard.source}")
    hidden = load_hiding(store.objects).of(store.objects, shard.objects[layout.SAMPLES]).rows
    struck = has_killed_worker(store.objects, f"{stage}{shard.source}", shard.shard)
    needed = dict.fromkeys((*columns, *_PLACE))
    done = 0
    try:
        for read in read_aligned(store.objects, shard.objects, needed, 1 if struck else BATCH_ROWS, hidden):
            for found in cut_by_bytes(read, texts, sizes):
                rows = len(next(iter(found.values())))
                out = np.array([place in poison for place in _positions(found)], np.bool_) if poison else None
                gone = hidden_in(hidden, done, rows)
                _mark(marker, found)
                yield Part(found, out, gone if gone.any() else None, marker)
                done += rows
    finally:
        marker.clear()


def cut_by_bytes(
    columns: Mapping[str, pa.Array],
    texts: Sequence[str],
    others: Callable[[Mapping[str, pa.Array]], NDArray[np.int64]] | None = None,
) -> Iterator[dict[str, pa.Array]]:
    """Cut a batch whose `texts`, and what `others` says that a row adds, have more bytes than `BATCH_BYTES`."""
    sizes = np.zeros(len(next(iter(columns.values()))), np.int64) if others is None else others(columns)
    for name in texts:
        sizes += pc.fill_null(pc.binary_length(columns[name]), 0).to_numpy(zero_copy_only=False)
    cuts = [0, *_cuts(sizes), len(sizes)]
    for first, last in itertools.pairwise(cuts):
        yield {name: array.slice(first, last - first) for name, array in columns.items()}


def _cuts(sizes: NDArray[np.int64]) -> list[int]:
    cuts, held = [], 0
    for row, size in enumerate(sizes.tolist()):
        if held and held + size > BATCH_BYTES:
            cuts.append(row)
            held = 0
        held += size
    return cuts


def _positions(columns: Mapping[str, pa.Array]) -> Iterator[Position]:
    found = (columns[column.name].to_pylist() for column in _PLACE)
    return (Position(*place) for place in zip(*found, strict=True))


def _mark(marker: Marker, columns: Mapping[str, pa.Array]) -> None:
    # The first row of the batch: after a strike, batches have one row, so that a mark names the exact row.
    place = next(_positions({name: columns[name].slice(0, 1) for name in (column.name for column in _PLACE)}))
    marker.at(place.path, place.offset, place.member)
