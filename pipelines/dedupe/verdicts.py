"""What comparing the shingles of two texts gave, remembered from one search of a store to the next.

How alike two texts are never changes. So it is kept under the digests of their normal forms, whatever rows hold them
and whatever is asked of it: another threshold, other bands and longer signatures meet the same pairs again. There is a
table for each shard of second rows. A search reads the tables that were there when it began and no others, so that a
task that runs twice finds the same; it writes what it had to compare into new ones, and its driver drops the old.

Nothing hangs on these tables but time: one that is gone, damaged or not a table of verdicts counts as empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.signatures import Scheme
from winnow.filters.text.minhash import OPERATOR
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.running.blocks import decode_batch, encode_batch
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import content_name, fingerprint_of

SET_LIMIT = 1 << 18  # shingles of a text that are compared one by one; of a longer one the smallest so many
MOST_VERDICTS = 1 << 20
"""Of a shard: 40 MB. Of more, those of the smallest digests are kept, which is the same part of them every time."""

_DIGEST_BYTES = 16
_PAIR = f"S{2 * _DIGEST_BYTES}"  # compared as bytes; values of one width differ only where their bytes do

Pairs = NDArray[np.bytes_]
"""Two digests each, the smaller one first."""

TABLE = pa.schema(
    [
        pa.field("pair", pa.binary(2 * _DIGEST_BYTES), nullable=False),  # ascending, each once
        pa.field("common", pa.int32(), nullable=False),  # shingles in both texts
        pa.field("together", pa.int32(), nullable=False),  # in either
    ]
)


@dataclass(frozen=True)
class Verdicts:
    """Of some pairs of texts, how many shingles they share and hold together."""

    pairs: Pairs  # ascending, each once
    common: NDArray[np.int32]
    together: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Pairs, common: NDArray[np.integer], together: NDArray[np.integer]) -> Self:
        """In order, each once, and no more than are kept."""
        kept, at = np.unique(pairs, return_index=True)
        kept, at = kept[:MOST_VERDICTS], at[:MOST_VERDICTS]
        return cls(kept, common[at].astype(np.int32), together[at].astype(np.int32))

    @classmethod
    def none(cls) -> Self:
        """Nothing is known."""
        return cls(np.zeros(0, _PAIR), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch) -> Self:
        """The inverse of `to_batch`."""
        return cls(_values(batch["pair"], _PAIR), batch["common"].to_numpy(), batch["together"].to_numpy())

    def to_batch(self) -> pa.RecordBatch:
        """As a `TABLE`."""
        columns = [packed_pairs(self.pairs), pa.array(self.common), pa.array(self.together)]
        return pa.RecordBatch.from_arrays(columns, schema=TABLE)

    def similarities(self, pairs: Pairs) -> NDArray[np.float64]:
        """How alike these pairs are; NaN where that is not known."""
        found = np.full(len(pairs), np.nan)
        at = np.searchsorted(self.pairs, pairs)
        inside = np.flatnonzero(at < len(self.pairs))
        known = inside[self.pairs[at[inside]] == pairs[inside]]
        found[known] = similarity_of(self.common[at[known]], self.together[at[known]])
        return found


def merged(tables: Sequence[Verdicts]) -> Verdicts:
    """What any of the tables says, in whatever order they come."""
    every = tables or [Verdicts.none()]
    return Verdicts.of(
        np.concatenate([table.pairs for table in every]),
        np.concatenate([table.common for table in every]),
        np.concatenate([table.together for table in every]),
    )


def similarity_of(common: NDArray[np.integer], together: NDArray[np.integer]) -> NDArray[np.float64]:
    """The share of the shingles of either text that are in both."""
    return np.asarray(common / np.maximum(together, 1), np.float64)


def digest_pairs(one: pa.FixedSizeBinaryArray, other: pa.FixedSizeBinaryArray) -> Pairs:
    """Each value beside the other one, the same whichever of them comes first."""
    left, right = (_values(column, f"S{_DIGEST_BYTES}") for column in (one, other))
    swapped = left > right
    both = np.empty((len(left), 2), f"S{_DIGEST_BYTES}")
    both[:, 0], both[:, 1] = np.where(swapped, right, left), np.where(swapped, left, right)
    return both.view(_PAIR)[:, 0]


def packed_pairs(pairs: Pairs) -> pa.FixedSizeBinaryArray:
    """As a column."""
    buffer = pa.py_buffer(np.ascontiguousarray(pairs))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(2 * _DIGEST_BYTES), len(pairs), [None, buffer])


def unpacked_pairs(column: pa.FixedSizeBinaryArray) -> Pairs:
    """The inverse of `packed_pairs`."""
    return _values(column, _PAIR)


def verdicts_key(scheme: Scheme) -> str:
    """What a verdict depends on beside two texts: not on the threshold, the bands or how long signatures are."""
    return fingerprint_of(
        {"version": OPERATOR.version, "shingle": scheme.unit, "size": scheme.size, "limit": SET_LIMIT}
    )


def find_verdicts(objects: ObjectStore, scheme: Scheme) -> Mapping[str, tuple[str, ...]]:
    """The tables of each shard; several where a search was stopped before it dropped the old one."""
    found: dict[str, tuple[str, ...]] = {}
    for info in objects.list(layout.verdicts_objects(verdicts_key(scheme))):
        shard = layout.shard_of(info.path)
        found[shard] = (*found.get(shard, ()), info.path)
    return found


def load_verdicts(search: Search, shard: int) -> Verdicts:
    """What was known of a shard's rows when the search began."""
    tables = [_read(search.store.objects, path) for path in search.covered[shard].verdicts]
    return tables[0] if len(tables) == 1 else merged(tables)


def keep_verdicts(search: Search, shard: int, fresh: Sequence[Verdicts]) -> None:
    """Put a table of what was known of a shard and what has been found now; the same bytes however often it is done."""
    assert search.near is not None
    raw = encode_batch(merged([load_verdicts(search, shard), *fresh]).to_batch())
    path = layout.verdicts_object(verdicts_key(search.near.scheme), search.covered[shard].shard, content_name(raw))
    search.store.objects.put(path, raw)  # whatever has the name: it may be damaged


def forget_superseded(search: Search) -> None:
    """Drop tables in whose place there are others, those of other shingles, and of shards that are no more.

    For the driver, once the layers of the search are committed.
    """
    if search.near is None:
        return
    objects, prefix = search.store.objects, layout.verdicts_objects(verdicts_key(search.near.scheme))
    read = {one.shard: frozenset(one.verdicts) for one in search.covered}
    best: dict[str, tuple[bool, int, str]] = {}
    every = []
    for info in objects.list(layout.VERDICTS):
        every.append(info.path)
        shard = layout.shard_of(info.path)
        if info.path.startswith(prefix) and shard in read:  # a table holds whatever was known before it was written
            best[shard] = max(best.get(shard, (False, 0, "")), (info.path not in read[shard], info.size, info.path))
    kept = {path for _, _, path in best.values()}
    for path in every:
        if path not in kept:
            objects.delete(path)


def _read(objects: ObjectStore, path: str) -> Verdicts:
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        return Verdicts.none()
    if path.rsplit(".", 2)[1:-1] != [content_name(raw)]:
        return Verdicts.none()
    try:
        batch = decode_batch(raw)
    except (pa.ArrowInvalid, OSError, StopIteration):
        return Verdicts.none()
    if batch.schema != TABLE or any(column.null_count for column in batch.columns):
        return Verdicts.none()
    found = Verdicts.from_batch(batch)
    return found if np.all((found.common >= 0) & (found.common <= found.together)) else Verdicts.none()


def _values(column: pa.FixedSizeBinaryArray, kind: str) -> NDArray[np.bytes_]:
    width = column.type.byte_width
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * width)
