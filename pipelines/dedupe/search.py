"""A search for duplicates: its settings, and the list of shards that its workers read."""

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
from winnow.pipelines.store.content import read_content
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import StageError
from winnow.schemas.identity import canonical_json
from winnow.schemas.rows.duplicates import Kind

MAX_SHARD_GROUPS = 4096
"""The shards of a large store are put into at most this many groups, so that tasks send fewer and larger blocks."""

HIDDEN = pa.schema([pa.field("row", pa.int64(), nullable=False)])
"""The forgotten rows of a shard, ascending."""

_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class CoveredShard:
    """A shard, and the object of each layer that the search reads of it."""

    shard: str
    source: str
    rows: int
    objects: Mapping[str, str]
    verdicts: tuple[str, ...] = ()  # tables with the results of earlier comparisons of its texts
    hidden: int = 0  # number of forgotten rows; the scratch folder lists them


@dataclass(frozen=True)
class Search:
    """The settings of a search that every task gets. Picklable.

    Rows that are forgotten while it runs stay part of it: its layers are what their keys describe, but out of date.
    """

    store: Store
    shards: str  # the object that lists the shards
    scratch: str
    kinds: Mapping[Kind, str]  # the signature layer of each kind
    text: tuple[Column, ...] = ()
    near: NearSettings | None = None  # None if the search is not for near duplicates

    @property
    def covered(self) -> tuple[CoveredShard, ...]:
        """The shards that the search covers, by number."""
        return _shards(self.store.objects, self.shards)

    @property
    def shard_groups(self) -> int:
        """The number of shard groups: ranges of shards that one task handles."""
        return min(len(self.covered), MAX_SHARD_GROUPS)

    def shard_group_of(self, shards: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard group of each shard number."""
        return shards * self.shard_groups // len(self.covered)

    def shards_in_group(self, shard_group: int) -> range:
        """Return the numbers of the shards in a shard group."""
        count = len(self.covered)
        return range(-(-shard_group * count // self.shard_groups), -(-(shard_group + 1) * count // self.shard_groups))


def put_shards(objects: ObjectStore, shards: list[CoveredShard]) -> str:
    """Store the list of shards; return its path."""
    if len(shards) >> SHARD_BITS:
        raise StageError(f"dedupe: {len(shards):,} shards; at most {(1 << SHARD_BITS) - 1:,} can be searched at once")
    return put_task_list(objects, "dedupe", [canonical_json(asdict(shard)).encode() for shard in shards])


def put_hidden_rows(objects: ObjectStore, scratch: str, shard: int, rows: NDArray[np.int64]) -> None:
    """Store the forgotten rows of a shard; the tasks of the search read them from there alone."""
    put_part(objects, scratch, "hidden", shard, pa.RecordBatch.from_arrays([pa.array(rows)], schema=HIDDEN))


def _hidden_rows(search: Search, shard: int) -> NDArray[np.int64] | None:
    if not search.covered[shard].hidden:
        return None
    found: NDArray[np.int64] = read_part(search.store.objects, search.scratch, "hidden", shard)["row"].to_numpy()
    return found


_last_list: dict[tuple[str, str], tuple[CoveredShard, ...]] = {}  # the list that this process read last


def _shards(objects: ObjectStore, path: str) -> tuple[CoveredShard, ...]:
    known = _last_list.get((objects.root, path))
    if known is None:
        known = tuple(msgspec.json.decode(line, type=CoveredShard) for line in read_content(objects, path).splitlines())
        _last_list.clear()
        _last_list[objects.root, path] = known
    return known


def read_shard(search: Search, shard: int, columns: list[Column]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
    """Yield batches of a shard's columns, each with the number of its first row; forgotten rows hold neutral values."""
    objects = search.store.objects
    one = search.covered[shard]
    at = 0
    for batch in read_aligned(objects, one.objects, columns, _BATCH_ROWS, _hidden_rows(search, shard)):
        yield at, batch
        at += len(next(iter(batch.values())))


@dataclass(frozen=True)
class Signatures:
    """The signatures, digests and ids of some rows, all of which have a signature."""

    values: NDArray[np.uint32]  # [rows, hashes]
    digests: pa.FixedSizeBinaryArray
    ids: pa.FixedSizeBinaryArray


def signatures_of(search: Search, shard: int, rows: NDArray[np.int64]) -> Iterator[tuple[slice, Signatures]]:
    """Yield the signatures of some rows of a shard, part by part; the rows are sorted and may repeat."""
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
    """Return a column of signatures as rows of hashes."""
    if column.type.byte_width != 4 * hashes:
        raise StageError(
            f"dedupe: the stored signatures have {column.type.byte_width // 4} hashes instead of {hashes}; "
            "run 'winnow audit'"
        )
    return np.frombuffer(column.buffers()[1], "<u4", len(column) * hashes, column.offset * 4 * hashes).reshape(
        -1, hashes
    )


def load_texts(search: Search, shard: int, rows: NDArray[np.int64]) -> pa.LargeStringArray:
    """Return the texts of some rows, which are sorted and distinct."""
    parts = [pa.array([], pa.large_string())]
    for at, batch in read_shard(search, shard, list(search.text)):
        columns = [batch[column.name].cast(pa.large_string()) for column in search.text]
        first, last = np.searchsorted(rows, (at, at + len(columns[0])))
        if first < last:
            wanted = pa.array(rows[first:last] - at)
            taken = [column.take(wanted) for column in columns]
            parts.append(taken[0] if len(taken) == 1 else pc.coalesce(*taken))
    return pa.concat_arrays(parts)
