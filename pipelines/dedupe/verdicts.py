"""Verdicts: the results of comparing the shingles of two texts, kept from one search of a store to the next.

The similarity of two texts never changes. So a verdict is stored under the digests of both texts' normal forms: it
holds for any rows with these texts, and for any threshold, bands and length of signatures. There is one table per
shard of second rows. A search reads only the tables that existed when it began, so that a task that runs twice gives
the same result; it writes new tables, and its driver deletes the old ones.

These tables only save time: one that is missing, damaged or of another schema counts as empty.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kinds.near import SET_LIMIT, similarity_of
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.filters.duplicates.signatures import Scheme
from winnow.filters.text.minhash import OPERATOR
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import decode_batch, encode_batch
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import content_name, fingerprint_of
from winnow.schemas.rows.duplicates import Kind

MAX_VERDICTS = 1 << 20
"""The limit per shard (40 MB). Beyond it the smallest digests are kept: the same ones every time."""

_DIGEST_BYTES = 16
_PAIR = f"S{2 * _DIGEST_BYTES}"  # compared as bytes

Pairs = NDArray[np.bytes_]
"""Pairs of digests, the smaller one first."""

TABLE = pa.schema(
    [
        pa.field("pair", pa.binary(2 * _DIGEST_BYTES), nullable=False),  # ascending, each once
        pa.field("common", pa.int32(), nullable=False),  # shingles in both texts
        pa.field("together", pa.int32(), nullable=False),  # in either
    ]
)


@dataclass(frozen=True)
class Verdicts:
    """Pairs of texts with the sizes of the intersection and the union of their shingles."""

    pairs: Pairs  # ascending, each once
    common: NDArray[np.int32]
    union: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Pairs, common: NDArray[np.integer], union: NDArray[np.integer]) -> Self:
        """Return the pairs sorted, each once, up to the limit."""
        kept, at = np.unique(pairs, return_index=True)
        kept, at = kept[:MAX_VERDICTS], at[:MAX_VERDICTS]
        return cls(kept, common[at].astype(np.int32), union[at].astype(np.int32))

    @classmethod
    def empty(cls) -> Self:
        """Return no verdicts."""
        return cls(np.zeros(0, _PAIR), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch) -> Self:
        """Read a `TABLE`; the inverse of `to_batch`."""
        return cls(_values(batch["pair"], _PAIR), batch["common"].to_numpy(), batch["together"].to_numpy())

    def to_batch(self) -> pa.RecordBatch:
        """Return the verdicts as a `TABLE`."""
        columns = [packed_pairs(self.pairs), pa.array(self.common), pa.array(self.union)]
        return pa.RecordBatch.from_arrays(columns, schema=TABLE)

    def similarities(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the similarity of these pairs; NaN if there is no verdict."""
        found = np.full(len(pairs), np.nan)
        at = np.searchsorted(self.pairs, pairs)
        inside = np.flatnonzero(at < len(self.pairs))
        known = inside[self.pairs[at[inside]] == pairs[inside]]
        found[known] = similarity_of(self.common[at[known]], self.union[at[known]])
        return found


def merged(tables: Sequence[Verdicts]) -> Verdicts:
    """Merge tables; their order makes no difference."""
    every = tables or [Verdicts.empty()]
    return Verdicts.of(
        np.concatenate([table.pairs for table in every]),
        np.concatenate([table.common for table in every]),
        np.concatenate([table.union for table in every]),
    )


def digest_pairs(one: pa.FixedSizeBinaryArray, other: pa.FixedSizeBinaryArray) -> Pairs:
    """Pair up two columns of digests; each pair is the same in either order."""
    left, right = (_values(column, f"S{_DIGEST_BYTES}") for column in (one, other))
    swapped = left > right
    both = np.empty((len(left), 2), f"S{_DIGEST_BYTES}")
    both[:, 0], both[:, 1] = np.where(swapped, right, left), np.where(swapped, left, right)
    return both.view(_PAIR)[:, 0]


def packed_pairs(pairs: Pairs) -> pa.FixedSizeBinaryArray:
    """Return pairs as a column."""
    buffer = pa.py_buffer(np.ascontiguousarray(pairs))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(2 * _DIGEST_BYTES), len(pairs), [None, buffer])


def verdicts_key(scheme: Scheme) -> str:
    """Return the key of all that a verdict depends on, apart from the texts: how shingles are made and limited."""
    return fingerprint_of(
        {"version": OPERATOR.version, "shingle": scheme.unit, "size": scheme.size, "limit": SET_LIMIT}
    )


def find_verdicts(objects: ObjectStore, scheme: Scheme) -> Mapping[str, tuple[str, ...]]:
    """Return the tables of each shard; several if a search was stopped before it deleted the old one."""
    found: dict[str, tuple[str, ...]] = {}
    for info in objects.list(layout.verdicts_objects(verdicts_key(scheme))):
        shard = layout.shard_of(info.path)
        found[shard] = (*found.get(shard, ()), info.path)
    return found


def load_verdicts(search: Search, kind: Kind, shard: int) -> Verdicts:
    """Load the verdicts that a shard had when the search began."""
    tables = [_read(search.store.objects, path) for path in search.covered[shard].verdicts.get(kind, ())]
    return tables[0] if len(tables) == 1 else merged(tables)


def put_verdicts(search: Search, kind: Kind, shard: int, fresh: Sequence[Verdicts]) -> None:
    """Store a table with a shard's old and new verdicts; repeating it writes the same bytes."""
    asked, how = search.shingled(kind)
    raw = encode_batch(merged([load_verdicts(search, kind, shard), *fresh]).to_batch())
    key = verdicts_key(how.scheme(asked.settings))
    path = layout.verdicts_object(key, search.covered[shard].shard, content_name(raw))
    search.store.objects.put(path, raw)  # even if it exists: that one may be damaged


def delete_superseded(search: Search) -> None:
    """Delete tables that newer ones replace, tables of other shingles, and those of shards that no longer exist.

    The driver calls this after the layers of the search are committed.
    """
    schemes = [
        how.scheme(one.settings) for one in search.kinds.values() if isinstance(how := one.search, ShingleSearch)
    ]
    if not schemes:
        return
    objects, prefixes = search.store.objects, {layout.verdicts_objects(verdicts_key(one)) for one in schemes}
    read = {one.shard: frozenset(itertools.chain.from_iterable(one.verdicts.values())) for one in search.covered}
    best: dict[tuple[str, str], tuple[bool, int, str]] = {}
    every = []
    for info in objects.list(layout.VERDICTS):
        every.append(info.path)
        shard = layout.shard_of(info.path)
        prefix = next((prefix for prefix in prefixes if info.path.startswith(prefix)), None)
        if prefix is not None and shard in read:  # a newer table includes the older ones
            fresh = info.path not in read[shard]
            best[prefix, shard] = max(best.get((prefix, shard), (False, 0, "")), (fresh, info.size, info.path))
    kept = {path for _, _, path in best.values()}
    delete_objects(objects, [path for path in every if path not in kept])


def _read(objects: ObjectStore, path: str) -> Verdicts:
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        return Verdicts.empty()
    if path.rsplit(".", 2)[1:-1] != [content_name(raw)]:
        return Verdicts.empty()
    try:
        batch = decode_batch(raw)
    except (pa.ArrowInvalid, OSError, StopIteration):
        return Verdicts.empty()
    if batch.schema != TABLE or any(column.null_count for column in batch.columns):
        return Verdicts.empty()
    found = Verdicts.from_batch(batch)
    return found if np.all((found.common >= 0) & (found.common <= found.union)) else Verdicts.empty()


def _values(column: pa.FixedSizeBinaryArray, kind: str) -> NDArray[np.bytes_]:
    width = column.type.byte_width
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * width)
