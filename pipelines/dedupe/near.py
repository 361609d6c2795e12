"""Near duplicates: bands to buckets to candidates, each verified before it joins anything.

A pair travels to the shard of its first row, whose signature goes with it to the shard of the second. What the
signatures leave unclear and no earlier search has found out goes the same way once more with the shingles of the texts.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import candidate_pairs
from winnow.filters.duplicates.components import spanning_forest
from winnow.filters.duplicates.signatures import shingle_sets
from winnow.filters.duplicates.verification import ABOVE, BELOW, UNCLEAR, Sets, jaccard, judge, matching
from winnow.pipelines.dedupe.arrays import (
    distinct_pairs,
    ids_column,
    marked,
    one_array,
    references,
    rows_of,
    shards_of,
    starts_of,
    words_column,
)
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.covered import Search, load_texts, read_shard, signature_matrix, signatures_of
from winnow.pipelines.dedupe.groups import keep_members, not_roots
from winnow.pipelines.dedupe.scratch import put_part
from winnow.pipelines.dedupe.verdicts import (
    SET_LIMIT,
    Verdicts,
    digest_pairs,
    keep_verdicts,
    load_verdicts,
    packed_pairs,
    similarity_of,
    unpacked_pairs,
)
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.store import layout
from winnow.schemas.rows.duplicates import ID_BYTES
from winnow.schemas.uint128 import Words, words_of

KEY_BYTES = 16  # of a band's key and a row's number
ALL_PAIRS = 32  # rows of a bucket that are all compared with each other; of more, each with its neighbours
DOUBTS = "doubts"
"""How the origin of blocks begins whose pairs the signatures leave unclear."""

_SIGNED_BYTES = 64 << 20  # of signatures that meet those of a place at once
_SETS_BYTES = 64 << 20  # the same of shingles

_ID = pa.binary(ID_BYTES)
_SECONDS = pa.large_list(pa.field("item", pa.uint64(), nullable=False))
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


def send_bands(
    search: Search, place: int, batches: Iterable[pa.RecordBatch], partitions: int
) -> Iterator[AddressedBlock]:
    """Keep what a place's shards were told of equal texts, and send the bands of the rows that no other stands for."""
    assert search.near is not None
    layer, near = search.kinds["near"], search.near

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
                signatures = signature_matrix(batch[f"{layer}.signature"], near.hashes)[chosen]
                ids = words_of(batch["samples.id"])[0][chosen]
                rows = marked(references(shard, at + chosen), ids)
                found = pa.array(band_keys(signatures, near.bands, near.rows).reshape(-1))
                block = pa.RecordBatch.from_arrays([found, pa.array(np.repeat(rows, near.bands))], ["key", "row"])
                yield block, partition_of_key(found, partitions)

    return addressed_blocks(f"bands-{place}", keys(), partitions)


def pair_up(search: Search, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """The candidates among the bands of one partition, to the places of their first rows."""
    assert search.near is not None
    held = list(batches)
    keys, rows = words_column(held, "key"), words_column(held, "row")
    found = candidate_pairs(keys, rows, all_pairs=ALL_PAIRS, hot=search.near.max_bucket)
    counted = {"buckets": found.buckets, "hot_buckets": found.hot_buckets, "hot_rows": found.hot_rows}
    search.store.objects.put(f"{search.scratch}/near/buckets/{partition:08d}.json", orjson.dumps(counted))
    block = pa.RecordBatch.from_arrays([pa.array(found.first), pa.array(found.second)], schema=EDGES)
    places = search.place_of(shards_of(found.first))
    yield from addressed_blocks(f"pairs-{partition}", [(block, places)], search.places)


def send_signatures(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """The first rows of a place's pairs with their signatures, once to each place that has second rows for them."""
    held = list(batches)
    first, second = distinct_pairs(words_column(held, "first"), words_column(held, "second"))
    places = search.place_of(shards_of(second))
    runs = starts_of(first, places)
    bounds = np.append(runs, len(first))

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for shard, begin, end in _by_shard(first[runs]):
            for part, signed in signatures_of(search, shard, rows_of(first[runs[begin:end]])):
                start, stop = begin + part.start, begin + part.stop
                ends = bounds[start : stop + 1]
                seconds = pa.LargeListArray.from_arrays(ends - ends[0], pa.array(second[ends[0] : ends[-1]]))
                columns = {
                    "first": pa.array(first[runs[start:stop]]),
                    "seconds": seconds.cast(_SECONDS),
                    "id": signed.ids,
                    "digest": signed.digests,
                    "signature": _packed(signed.values),
                }
                yield pa.RecordBatch.from_pydict(columns), places[runs[start:stop]]

    yield from addressed_blocks(f"signatures-{place}", blocks(), search.places)


def judge_pairs(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Decide each pair by its signatures, or by what is known of its texts: edges to both of its rows' places.

    Pairs that stay unclear go back to the places of their first rows.
    """
    assert search.near is not None
    hashes, min_similarity = search.near.hashes, search.near.min_similarity
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    doubts: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    for gathered in _gathered(batches, _SIGNED_BYTES):
        rows = pa.Table.from_batches(gathered).combine_chunks()
        seconds = one_array(rows["seconds"])
        second = seconds.flatten().to_numpy()
        of = np.repeat(np.arange(len(rows)), np.diff(seconds.offsets.to_numpy()))
        order = np.argsort(second, kind="stable")
        second, of = second[order], of[order]
        firsts = rows["first"].to_numpy()
        ids, digests = one_array(rows["id"]), one_array(rows["digest"])
        signatures = signature_matrix(one_array(rows["signature"]), hashes)
        for shard, begin, end in _by_shard(second):
            known = load_verdicts(search, shard)
            for part, signed in signatures_of(search, shard, rows_of(second[begin:end])):
                mine = of[begin:end][part]
                pairs = _Pairs(firsts[mine], second[begin:end][part], ids.take(pa.array(mine)), signed.ids)
                matches = matching(signatures[mine], signed.values)
                verdict, similarity = judge(matches, hashes, min_similarity), matches / hashes
                unclear = np.flatnonzero(verdict == UNCLEAR)
                texts = digest_pairs(digests.take(pa.array(mine[unclear])), signed.digests.take(pa.array(unclear)))
                exact = known.similarities(texts)
                unknown = np.isnan(exact)
                asked, told = unclear[unknown], unclear[~unknown]
                similarity[told] = exact[~unknown]
                verdict[told] = np.where(similarity[told] >= min_similarity, ABOVE, BELOW)
                exactly = np.zeros(len(verdict), np.bool_)
                exactly[told] = True
                edges += _directed(search, pairs, similarity, exactly, np.flatnonzero(verdict == ABOVE))
                columns = {**pairs.take(asked).columns(), "texts": packed_pairs(texts[unknown])}
                doubts.append((pa.RecordBatch.from_pydict(columns), search.place_of(shards_of(pairs.first[asked]))))
    yield from addressed_blocks(f"judged-{place}", edges, search.places)
    yield from addressed_blocks(f"{DOUBTS}-{place}", doubts, search.places)


def send_shingles(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """The shingles of the first texts of a place's unclear pairs, once to each place that has second texts for them."""
    pairs = pa.Table.from_batches(batches).combine_chunks()
    second = pairs["second"].to_numpy()
    places = search.place_of(shards_of(second))
    order = np.lexsort((second, places, pairs["first"].to_numpy()))
    pairs, places = pairs.take(pa.array(order)), places[order]
    first = pairs["first"].to_numpy()
    runs = starts_of(first, places)
    bounds = np.append(runs, len(first))

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for part, sets in _sent_sets(search, first[runs]):
            ends = bounds[part.start : part.stop + 1]
            theirs = pairs.slice(ends[0], ends[-1] - ends[0])
            ours = pairs.take(pa.array(runs[part]))
            columns = {name: one_array(ours[name]) for name in ("first", "id")}
            for name in ("second", "other", "texts"):
                columns[name] = pa.LargeListArray.from_arrays(ends - ends[0], one_array(theirs[name]))
            columns["shingles"] = sets
            yield pa.RecordBatch.from_pydict(columns), places[runs[part]]

    yield from addressed_blocks(f"shingles-{place}", blocks(), search.places)


def compare_shingles(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Decide the unclear pairs by their true similarity, and remember it."""
    assert search.near is not None
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    fresh: dict[int, list[Verdicts]] = {}
    for gathered in _gathered(batches, _SETS_BYTES):
        rows = pa.Table.from_batches(gathered).combine_chunks()
        lists = {name: one_array(rows[name]) for name in ("second", "other", "texts", "shingles")}
        second = lists["second"].flatten().to_numpy()
        of = np.repeat(np.arange(len(rows)), np.diff(lists["second"].offsets.to_numpy()))
        order = np.argsort(second, kind="stable")
        second, of = second[order], of[order]
        firsts, ids = rows["first"].to_numpy(), one_array(rows["id"])
        others, texts = (lists[name].flatten().take(pa.array(order)) for name in ("other", "texts"))
        starts = lists["shingles"].offsets.to_numpy()
        own = (starts - starts[0], lists["shingles"].flatten().to_numpy())
        for part, theirs, sets in _sets_of(search, second):
            mine = of[part]
            pairs = _Pairs(firsts[mine], second[part], ids.take(pa.array(mine)), others[part])
            common, together = jaccard(own, sets, (mine, theirs), limit=SET_LIMIT)
            similarity = similarity_of(common, together)
            joined = np.flatnonzero(similarity >= search.near.min_similarity)
            edges += _directed(search, pairs, similarity, np.ones(len(similarity), np.bool_), joined)
            shard = int(shards_of(pairs.second[:1])[0])
            fresh.setdefault(shard, []).append(Verdicts.of(unpacked_pairs(texts[part]), common, together))
    for shard, tables in fresh.items():
        keep_verdicts(search, shard, tables)
    yield from addressed_blocks(f"compared-{place}", edges, search.places)


def keep_matches(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Leave the best match of each row of a place, and a forest that joins what its edges join; gives its edges."""
    held = list(batches)
    rows, others = words_column(held, "row"), words_column(held, "other")
    mine = rows < others
    first, second = spanning_forest(rows[mine], others[mine])
    forest = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=EDGES)
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
    yield len(first)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows, with their ids."""

    first: Words
    second: Words
    id: pa.FixedSizeBinaryArray  # of the first
    other: pa.FixedSizeBinaryArray

    def columns(self) -> dict[str, pa.Array]:
        """As they travel."""
        return {"first": pa.array(self.first), "second": pa.array(self.second), "id": self.id, "other": self.other}

    def take(self, chosen: NDArray[np.int64]) -> "_Pairs":
        """Some of them."""
        taken = pa.array(chosen)
        return _Pairs(self.first[chosen], self.second[chosen], self.id.take(taken), self.other.take(taken))


def _sets_of(search: Search, numbers: Words) -> Iterator[tuple[slice, NDArray[np.int64], Sets]]:
    """The shingles of rows that are sorted, some at a time: which rows, the number of the set of each, and the sets."""
    assert search.near is not None
    for shard, begin, end in _by_shard(numbers):
        wanted = np.unique(rows_of(numbers[begin:end]))
        texts = load_texts(search, shard, wanted)
        most = 8 * np.minimum(pc.binary_length(texts).to_numpy(), SET_LIMIT)  # bytes that a set may take
        piece = (np.cumsum(most) - most) // _SETS_BYTES
        places = np.searchsorted(wanted, rows_of(numbers[begin:end]))
        bounds = np.append(starts_of(piece[places]), len(places))
        for start, stop in itertools.pairwise(bounds.tolist()):
            lowest, highest = int(places[start]), int(places[stop - 1])
            sets = shingle_sets(texts.slice(lowest, highest + 1 - lowest), search.near.scheme, SET_LIMIT)
            yield slice(begin + start, begin + stop), places[start:stop] - lowest, sets


def _sent_sets(search: Search, numbers: Words) -> Iterator[tuple[slice, pa.LargeListArray]]:
    """The shingles of rows that are sorted, again for each time that a row is named, some megabytes at a time."""
    for part, of, (offsets, values) in _sets_of(search, numbers):
        sets = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
        taken = 8 * np.diff(offsets)[of]
        bounds = [*starts_of((np.cumsum(taken) - taken) // _SETS_BYTES).tolist(), len(of)]
        for begin, end in itertools.pairwise(bounds):
            yield slice(part.start + begin, part.start + end), sets.take(pa.array(of[begin:end]))


def _directed(
    search: Search,
    pairs: _Pairs,
    similarity: NDArray[np.float64],
    exactly: NDArray[np.bool_],
    chosen: NDArray[np.int64],
) -> list[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """The chosen pairs as seen from either row."""
    some = pairs.take(chosen)
    measured = [pa.array(similarity[chosen]), pa.array(exactly[chosen])]
    first, second = pa.array(some.first), pa.array(some.second)
    one = pa.RecordBatch.from_arrays([first, second, some.id, some.other, *measured], schema=MATCHES)
    other = pa.RecordBatch.from_arrays([second, first, some.other, some.id, *measured], schema=MATCHES)
    return [(one, search.place_of(shards_of(some.first))), (other, search.place_of(shards_of(some.second)))]


def _gathered(batches: Iterable[pa.RecordBatch], most_bytes: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches some megabytes at a time: a shard is read once for all of them."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most_bytes:
            yield held
            held, size = [], 0
    if held:
        yield held


def _packed(rows: NDArray[np.uint32]) -> pa.FixedSizeBinaryArray:
    """Rows of hashes as a column."""
    buffer = pa.py_buffer(np.ascontiguousarray(rows, "<u4"))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * rows.shape[1]), len(rows), [None, buffer])


def _by_shard(rows: Words) -> Iterator[tuple[int, int, int]]:
    """Where the rows of each shard begin and end, among rows that are sorted."""
    numbers = shards_of(rows)
    bounds = [*starts_of(numbers).tolist(), len(numbers)]
    for begin, end in itertools.pairwise(bounds):
        yield int(numbers[begin]), begin, end
