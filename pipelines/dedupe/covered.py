"""The shards that a search for duplicates covers: a list that workers read, never a constant of the graph."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.duplicates import NearSettings
from winnow.pipelines.dedupe.arrays import SHARD_BITS
from winnow.pipelines.dedupe.scratch import put_part, read_part
from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.running.tasks import put_task_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import StageError
from winnow.schemas.identity import canonical_json
from winnow.schemas.rows.duplicates import Kind

MAX_PLACES = 4096
"""Into so many parts the shards of a large store are put together, so that a task sends few and larger blocks."""

HIDDEN = pa.schema([pa.field("row", pa.int64(), nullable=False)])
"""The forgotten rows of a shard, ascending."""

_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class CoveredShard:
    """A shard and the object of each layer that is read of it."""

    shard: str
    source: str
    rows: int
    objects: Mapping[str, str]
    verdicts: tuple[str, ...] = ()  # tables of what was found by comparing its texts before
    hidden: int = 0  # forgotten rows, which are named in the scratch folder


@dataclass(frozen=True)
class Search:
    """What every task of a search knows. Picklable.

    Rows that are forgotten while it runs stay part of it: its layers say what their keys promise, and are out of date.
    """

    store: Store
    shards: str  # the object that lists them
    scratch: str
    kinds: Mapping[Kind, str]  # the layer that each kind is found by
    text: tuple[Column, ...] = ()
    near: NearSettings | None = None  # None where no near duplicates are looked for

    @property
    def covered(self) -> tuple[CoveredShard, ...]:
        """The shards, by number."""
        return _shards(self.store.objects, self.shards)

    @property
    def places(self) -> int:
        """How many parts the shards are put together into."""
        return min(len(self.covered), MAX_PLACES)

    def place_of(self, shards: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each shard, by its number."""
        return shards * self.places // len(self.covered)

    def shards_at(self, place: int) -> range:
        """The numbers of the shards of a place."""
        count = len(self.covered)
        return range(-(-place * count // self.places), -(-(place + 1) * count // self.places))


def put_shards(objects: ObjectStore, shards: list[CoveredShard]) -> str:
    """Write the list down."""
    if len(shards) >> SHARD_BITS:
        raise StageError(f"dedupe: {len(shards):,} shards; at most {(1 << SHARD_BITS) - 1:,} can be searched at once")
    return put_task_list(objects, "dedupe", [canonical_json(asdict(shard)).encode() for shard in shards])


def hide_rows(objects: ObjectStore, scratch: str, shard: int, rows: NDArray[np.int64]) -> None:
    """Leave the forgotten rows of a shard that has some: no task of the search looks for others."""
    put_part(objects, scratch, "hidden", shard, pa.RecordBatch.from_arrays([pa.array(rows)], schema=HIDDEN))


def _hidden_rows(search: Search, shard: int) -> NDArray[np.int64] | None:
    if not search.covered[shard].hidden:
        return None
    found: NDArray[np.int64] = read_part(search.store.objects, search.scratch, "hidden", shard)["row"].to_numpy()
    return found


_read: dict[tuple[str, str], tuple[CoveredShard, ...]] = {}  # the one list that this process is at


def _shards(objects: ObjectStore, path: str) -> tuple[CoveredShard, ...]:
    known = _read.get((objects.root, path))
    if known is None:
        known = tuple(msgspec.json.decode(line, type=CoveredShard) for line in objects.read(path).splitlines())
        _read.clear()
        _read[objects.root, path] = known
    return known


def read_shard(search: Search, shard: int, columns: list[Column]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
    """The columns of a shard with the number of the first row of each batch; forgotten rows are neutral."""
    objects = search.store.objects
    one = search.covered[shard]
    at = 0
    for batch in read_aligned(objects, one.objects, columns, _BATCH_ROWS, _hidden_rows(search, shard)):
        yield at, batch
        at += len(next(iter(batch.values())))


@dataclass(frozen=True)
class Signatures:
    """What pairs are judged by, of some rows; that of rows without a signature is never asked for."""

    values: NDArray[np.uint32]  # [rows, hashes]
    digests: pa.FixedSizeBinaryArray
    ids: pa.FixedSizeBinaryArray


def signatures_of(search: Search, shard: int, rows: NDArray[np.int64]) -> Iterator[tuple[slice, Signatures]]:
    """The signatures of some rows of a shard, which are sorted and may repeat: a part of them at a time."""
    assert search.near is not None
    layer = search.kinds["near"]
    columns = [Column(layer, "signature"), Column(layer, "digest"), Column(layout.SAMPLES, "id")]
    for at, batch in read_shard(search, shard, columns):
        ids = batch["samples.id"]
        first, last = np.searchsorted(rows, (at, at + len(ids)))
        for start in range(first, last, _BATCH_ROWS):
            part = slice(start, min(start + _BATCH_ROWS, last))
            taken = rows[part] - at
            values = signature_matrix(batch[f"{layer}.signature"], search.near.hashes)[taken]
            which = pa.array(taken)
            yield part, Signatures(values, batch[f"{layer}.digest"].take(which), ids.take(which))


def signature_matrix(column: pa.Array, hashes: int) -> NDArray[np.uint32]:
    """A column of signatures as rows of hashes."""
    if column.type.byte_width != 4 * hashes:
        raise StageError(
            f"dedupe: signatures of {column.type.byte_width // 4} hashes where {hashes} are asked for: another scheme's"
        )
    return np.frombuffer(column.buffers()[1], "<u4", len(column) * hashes, column.offset * 4 * hashes).reshape(
        -1, hashes
    )


def load_texts(search: Search, shard: int, rows: NDArray[np.int64]) -> pa.LargeStringArray:
    """The texts of some rows, which are sorted and distinct."""
    parts = [pa.array([], pa.large_string())]
    for at, batch in read_shard(search, shard, list(search.text)):
        columns = [batch[column.name].cast(pa.large_string()) for column in search.text]
        first, last = np.searchsorted(rows, (at, at + len(columns[0])))
        if first < last:
            wanted = pa.array(rows[first:last] - at)
            taken = [column.take(wanted) for column in columns]
            parts.append(taken[0] if len(taken) == 1 else pc.coalesce(*taken))
    return pa.concat_arrays(parts)
