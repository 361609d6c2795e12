"""Near duplicates: bands to buckets to candidates, each verified before it joins anything.

A pair travels to the shard of its first row, whose signature goes with it to the shard of the second; what the
signatures leave unclear goes the same way once more with the shingles of the texts.
"""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import candidate_pairs
from winnow.filters.duplicates.components import spanning_forest
from winnow.filters.duplicates.signatures import shingle_sets
from winnow.filters.duplicates.verification import jaccard, judge, matching
from winnow.pipelines.blocks import AddressedBlock
from winnow.pipelines.columns import Column
from winnow.pipelines.dedupe.arrays import (
    Words,
    ids_column,
    marked,
    one_array,
    references,
    rows_of,
    shards_of,
    starts_of,
    values_of,
    words_column,
    words_of,
)
from winnow.pipelines.dedupe.covered import (
    Search,
    Signatures,
    load_signatures,
    load_texts,
    read_shard,
    signature_matrix,
)
from winnow.pipelines.dedupe.groups import keep_members, not_roots
from winnow.pipelines.dedupe.scratch import put_part
from winnow.pipelines.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.store import layout
from winnow.schemas.duplicates import ID_BYTES

KEY_BYTES = 16  # of a band's key and a row's number
SET_LIMIT = 1 << 18  # shingles of a text that are compared one by one; of a longer one the smallest so many
DOUBTS = "doubts"
"""How the origin of blocks begins whose pairs the signatures leave unclear."""

_PAIRS_AT_ONCE = 1 << 15
_SETS_AT_ONCE = 1 << 11
_GATHERED_BYTES = 128 << 20

_ID = pa.binary(ID_BYTES)
_SHINGLES = pa.large_list(pa.field("item", pa.uint64(), nullable=False))
MATCHES = pa.schema(
    [
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("other", pa.uint64(), nullable=False),
        pa.field("id", _ID, nullable=False),
        pa.field("matched", _ID, nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("exactly", pa.bool_(), nullable=False),  # known from the shingles, not from the signatures
    ]
)
FOREST = pa.schema([pa.field("first", pa.uint64(), nullable=False), pa.field("second", pa.uint64(), nullable=False)])


def send_bands(
    search: Search, place: int, batches: Iterable[pa.RecordBatch], partitions: int
) -> Iterator[AddressedBlock]:
    """Keep what a place's shards were told of equal texts, and send the bands of the rows that no other stands for."""
    assert search.scheme is not None
    layer, hashes = search.kinds["near"], search.scheme.hashes

    def keys() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        for shard, members in keep_members(search, "near", place, batches):
            left_out = not_roots(members)
            columns = [Column(layer, "signature"), Column(layout.SAMPLES, "id")]
            for at, batch in read_shard(search, shard, columns):
                signed = batch[f"{layer}.signature"].is_valid().to_numpy(zero_copy_only=False)
                first, last = np.searchsorted(left_out, (at, at + len(signed)))
                signed[left_out[first:last] - at] = False
                chosen = np.flatnonzero(signed)
                if not len(chosen):
                    continue
                signatures = signature_matrix(batch[f"{layer}.signature"], hashes)[chosen]
                ids = words_of(batch["samples.id"])[0][chosen]
                rows = marked(references(shard, at + chosen), ids)
                found = pa.array(band_keys(signatures, search.bands, search.rows).reshape(-1))
                block = pa.RecordBatch.from_arrays([found, pa.array(np.repeat(rows, search.bands))], ["key", "row"])
                yield block, partition_of_key(found, partitions)

    return addressed_blocks(f"bands-{place}", keys(), partitions)


def pair_up(search: Search, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """The candidates among the bands of one partition, to the places of their first rows."""
    held = list(batches)
    found = candidate_pairs(words_column(held, "key"), words_column(held, "row"), hot=search.max_bucket)
    counted = {"buckets": found.buckets, "hot_buckets": found.hot_buckets, "hot_rows": found.hot_rows}
    search.store.objects.put(f"{search.scratch}/near/buckets/{partition:08d}.json", orjson.dumps(counted))
    block = pa.RecordBatch.from_arrays([pa.array(found.first), pa.array(found.second)], schema=FOREST)
    places = search.place_of(shards_of(found.first))
    yield from addressed_blocks(f"pairs-{partition}", [(block, places)], search.places)


def send_signatures(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Each pair of a place once, with the signature and the id of its first row, to the place of its second."""
    assert search.scheme is not None
    held = list(batches)
    first, second = _distinct(words_column(held, "first"), words_column(held, "second"))
    kind = pa.binary(4 * search.scheme.hashes)

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for shard, begin, end in _by_shard(first):
            signatures = load_signatures(search, shard)
            for start in range(begin, end, _PAIRS_AT_ONCE):
                part = slice(start, min(start + _PAIRS_AT_ONCE, end))
                rows = rows_of(first[part])
                raw = np.ascontiguousarray(signatures.values[rows])
                column = pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(raw)])
                ids = values_of(signatures.high[rows], signatures.low[rows])
                columns = [pa.array(first[part]), pa.array(second[part]), ids, column]
                block = pa.RecordBatch.from_arrays(columns, ["first", "second", "id", "signature"])
                yield block, search.place_of(shards_of(second[part]))

    yield from addressed_blocks(f"signatures-{place}", blocks(), search.places)


def judge_pairs(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Decide each pair by its signatures: edges to both of its rows' places, unclear ones back to the first's."""
    assert search.scheme is not None
    hashes = search.scheme.hashes
    loaded = _Loaded(search)
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    doubts: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    for batch in batches:
        first, second = batch["first"].to_numpy(), batch["second"].to_numpy()
        theirs, high, low = loaded.of(second)
        matches = matching(signature_matrix(batch["signature"], hashes), theirs)
        verdict = judge(matches, hashes, search.min_similarity)
        ids = batch["id"]
        others = values_of(high, low)
        clear = np.flatnonzero(verdict > 0)
        if len(clear):
            edges += _directed(search, first, second, ids, others, matches / hashes, clear, exactly=False)
        unclear = np.flatnonzero(verdict == 0)
        if len(unclear):
            taken = pa.array(unclear)
            columns = [pa.array(first[unclear]), pa.array(second[unclear]), ids.take(taken), others.take(taken)]
            block = pa.RecordBatch.from_arrays(columns, ["first", "second", "id", "other"])
            doubts.append((block, search.place_of(shards_of(first[unclear]))))
    yield from addressed_blocks(f"judged-{place}", edges, search.places)
    yield from addressed_blocks(f"{DOUBTS}-{place}", doubts, search.places)


def send_shingles(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """The unclear pairs with the shingles of their first texts, to the places of the second."""
    order = [("first", "ascending"), ("second", "ascending")]
    pairs = pa.Table.from_batches(batches).sort_by(order).combine_chunks()

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for part, offsets, values in _with_sets(search, pairs, "first"):
            sets = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values)).cast(_SHINGLES)
            block = pa.RecordBatch.from_arrays(
                [*(one_array(part[name]) for name in part.column_names), sets], [*part.column_names, "shingles"]
            )
            yield block, search.place_of(shards_of(part["second"].to_numpy()))

    yield from addressed_blocks(f"shingles-{place}", blocks(), search.places)


def compare_shingles(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Decide the unclear pairs by their true similarity."""
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    for gathered in _gathered(batches):
        order = [("second", "ascending"), ("first", "ascending")]
        pairs = pa.Table.from_batches(gathered).sort_by(order).combine_chunks()
        for part, offsets, values in _with_sets(search, pairs, "second"):
            sets = one_array(part["shingles"])
            own = sets.offsets.to_numpy()
            common, together = jaccard(own - own[0], sets.flatten().to_numpy(), offsets, values, limit=SET_LIMIT)
            similarity = common / np.maximum(together, 1)
            joined = np.flatnonzero(similarity >= search.min_similarity)
            first, second = part["first"].to_numpy(), part["second"].to_numpy()
            edges += _directed(
                search, first, second, one_array(part["id"]), one_array(part["other"]), similarity, joined, exactly=True
            )
    yield from addressed_blocks(f"compared-{place}", edges, search.places)


def keep_matches(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Leave the best match of each row of a place, and a forest that joins what its edges join."""
    held = list(batches)
    rows, others = words_column(held, "row"), words_column(held, "other")
    mine = rows < others
    first, second = spanning_forest(rows[mine], others[mine])
    forest = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=FOREST)
    put_part(search.store.objects, search.scratch, "near/forests", place, forest)
    table = pa.Table.from_batches(held, schema=MATCHES).combine_chunks()
    high, low = ids_column(held, "matched")
    similarity = table["similarity"].to_numpy()
    order = np.lexsort((low, high, -similarity, rows))
    best = order[starts_of(rows[order])]
    kept = table.take(pa.array(best))
    numbers = shards_of(rows[best])
    for shard in search.shards_at(place):
        begin, end = np.searchsorted(numbers, (shard, shard + 1))
        part = kept.slice(begin, end - begin)
        batch = pa.RecordBatch.from_arrays([one_array(part[name]) for name in MATCHES.names], schema=MATCHES)
        put_part(search.store.objects, search.scratch, "near/matches", shard, batch)
    yield place


class _Loaded:
    """The signatures of a place's shards, a few at a time."""

    _HELD = 4

    def __init__(self, search: Search) -> None:
        self._search = search
        self._held: dict[int, Signatures] = {}

    def of(self, rows: Words) -> tuple[NDArray[np.uint32], Words, Words]:
        """The signatures and ids of some rows."""
        assert self._search.scheme is not None
        values = np.empty((len(rows), self._search.scheme.hashes), np.uint32)
        high, low = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
        numbers = shards_of(rows)
        for shard in np.unique(numbers).tolist():
            if shard not in self._held:
                while len(self._held) >= self._HELD:
                    del self._held[next(iter(self._held))]
                self._held[shard] = load_signatures(self._search, shard)
            held, which = self._held[shard], numbers == shard
            at = rows_of(rows[which])
            values[which], high[which], low[which] = held.values[at], held.high[at], held.low[at]
        return values, high, low


def _with_sets(
    search: Search, pairs: pa.Table, side: str
) -> Iterator[tuple[pa.Table, NDArray[np.int64], NDArray[np.uint64]]]:
    """Pairs that are sorted by one side, with the shingles of that side's texts, some at a time."""
    assert search.scheme is not None
    numbers = pairs[side].to_numpy()
    for shard, begin, end in _by_shard(numbers):
        wanted = np.unique(rows_of(numbers[begin:end]))
        texts = load_texts(search, shard, wanted)
        for start in range(begin, end, _SETS_AT_ONCE):
            stop = min(start + _SETS_AT_ONCE, end)
            places = np.searchsorted(wanted, rows_of(numbers[start:stop]))
            distinct, of = np.unique(places, return_inverse=True)
            offsets, values = shingle_sets(texts.take(pa.array(distinct)), search.scheme, SET_LIMIT)
            sizes = np.diff(offsets)[of]
            spread = np.concatenate([[0], np.cumsum(sizes)])
            at = np.arange(spread[-1]) - np.repeat(spread[:-1] - offsets[:-1][of], sizes)
            yield pairs.slice(start, stop - start), spread.astype(np.int64), values[at]


def _directed(
    search: Search,
    first: Words,
    second: Words,
    ids: pa.Array,
    others: pa.Array,
    similarity: NDArray[np.float64],
    chosen: NDArray[np.int64],
    *,
    exactly: bool,
) -> list[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """The chosen pairs as seen from either row."""
    taken = pa.array(chosen)
    one, other = (pa.array(first[chosen]), ids.take(taken)), (pa.array(second[chosen]), others.take(taken))
    measured = [pa.array(similarity[chosen]), pa.array(np.full(len(chosen), exactly))]
    found = []
    for (row, own), (opposite, matched), numbers in ((one, other, first), (other, one, second)):
        block = pa.RecordBatch.from_arrays([row, opposite, own, matched, *measured], schema=MATCHES)
        found.append((block, search.place_of(shards_of(numbers[chosen]))))
    return found


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches some megabytes at a time: a shard's texts are read once for all of them."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _GATHERED_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _by_shard(rows: Words) -> Iterator[tuple[int, int, int]]:
    """Where the rows of each shard begin and end, among rows that are sorted."""
    numbers = shards_of(rows)
    bounds = [*starts_of(numbers).tolist(), len(numbers)]
    for begin, end in itertools.pairwise(bounds):
        yield int(numbers[begin]), begin, end


def _distinct(first: Words, second: Words) -> tuple[Words, Words]:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = starts_of(first, second)
    return first[fresh], second[fresh]
