"""Runs the searches of kinds that compare texts by shingles (`filters.duplicates.searches.ShingleSearch`).

A pair is sent to the shard of its first row, and on to the shard of its second row with the first row's signature.
Pairs that signatures cannot decide, and that no earlier search compared, take the same way again with shingles.
"""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kinds.near import SET_LIMIT, compared_shingles, shared_shingles, similarity_of
from winnow.filters.duplicates.verification import ABOVE, BELOW, UNCLEAR, Sets
from winnow.pipelines.dedupe.groups import values_of_groups
from winnow.pipelines.dedupe.matches import Pairs, compared_pairs, send_pairs
from winnow.pipelines.dedupe.nodes import nodes_of_rows, rows_of, shard_ranges, shards_of, whole_rows
from winnow.pipelines.dedupe.search import Search, load_texts, signature_matrix
from winnow.pipelines.dedupe.verdicts import (
    Verdicts,
    digest_pairs,
    load_verdicts,
    packed_pairs,
    put_verdicts,
    unpacked_pairs,
)
from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import run_starts, single_array, uint64_column, with_id_bits
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.uint128 import Words, words_of

KEY_BYTES = 16  # a band's key and a row's number
UNRESOLVED = "unresolved"
"""The prefix of the origin of blocks with pairs that signatures cannot decide."""

_SHINGLE_BYTES = 64 << 20  # shingles held at once


def send_bands(
    search: Search, kind: Kind, partitions: int, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the groups of equal texts of a shard group, and send the bands of one row of each group."""
    asked, how = search.shingled(kind)
    near = asked.settings

    def keys() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        for _, lines in values_of_groups(search, kind, shard_group, batches):
            found = pa.array(how.keys(near, signature_matrix(lines["value"], near.hashes)))
            rows = with_id_bits(whole_rows(lines["node"].to_numpy()), words_of(lines["id"])[0])
            block = pa.RecordBatch.from_arrays([found, pa.array(np.repeat(rows, near.bands))], ["key", "row"])
            yield block, partition_of_key(found, partitions)

    return addressed_blocks(f"{kind}-bands-{shard_group}", keys(), partitions)


def find_candidates(
    search: Search, kind: Kind, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the candidate pairs of one partition's bands to the shard groups of their first rows."""
    asked, how = search.shingled(kind)
    held = list(batches)
    found = how.candidates(asked.settings, uint64_column(held, "key"), uint64_column(held, "row"))
    counted = {"buckets": found.buckets, "hot_buckets": found.hot_buckets, "hot_rows": found.hot_rows}
    search.count(kind, counted, f"bands-{partition:08d}")
    yield from send_pairs(search, kind, partition, nodes_of_rows(found.first), nodes_of_rows(found.second))


def verify_by_signature(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Decide each pair by its signatures or by an earlier comparison, and send edges to both rows' shard groups.

    Pairs that remain undecided are sent back to the shard groups of their first rows.
    """
    asked, how = search.shingled(kind)
    hashes, min_similarity = asked.settings.hashes, asked.settings.min_similarity
    edges: list[pa.RecordBatch] = []
    unresolved: list[pa.RecordBatch] = []
    for shard, parts in itertools.groupby(compared_pairs(search, kind, batches), lambda found: found.shard):
        known = load_verdicts(search, kind, shard)
        for found in parts:
            firsts, seconds = (signature_matrix(side["value"], hashes) for side in (found.firsts, found.seconds))
            verdict, similarity = how.judge(asked.settings, firsts[found.of], seconds)
            unclear = np.flatnonzero(verdict == UNCLEAR)
            digests = found.firsts["digest"].take(pa.array(found.of[unclear]))
            texts = digest_pairs(digests, found.seconds["digest"].take(pa.array(unclear)))
            exact = known.similarities(texts)
            unknown = np.isnan(exact)
            unknown_at, known_at = unclear[unknown], unclear[~unknown]
            similarity[known_at] = exact[~unknown]
            verdict[known_at] = np.where(similarity[known_at] >= min_similarity, ABOVE, BELOW)
            exactly = np.zeros(len(verdict), np.bool_)
            exactly[known_at] = True
            similar = np.flatnonzero(verdict == ABOVE)
            likeness = similarity[similar]
            edges += found.pairs.take(similar).matches(likeness, likeness, exactly[similar])
            columns = {**found.pairs.take(unknown_at).columns(), "texts": packed_pairs(texts[unknown])}
            unresolved.append(pa.RecordBatch.from_pydict(columns))
    yield from search.to_shards(f"{kind}-judged-{shard_group}", edges, "node")
    yield from search.to_shards(f"{UNRESOLVED}-{kind}-{shard_group}", unresolved, "first")


def send_shingles(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the shingles of the undecided pairs' first texts, once to each shard group with second texts for them."""
    pairs = pa.Table.from_batches(batches).combine_chunks()
    second = pairs["second"].to_numpy()
    shard_groups = search.listed.group_of(shards_of(second))
    order = np.lexsort((second, shard_groups, pairs["first"].to_numpy()))
    pairs, shard_groups = pairs.take(pa.array(order)), shard_groups[order]
    first = pairs["first"].to_numpy()
    runs = run_starts(first, shard_groups)
    bounds = np.append(runs, len(first))

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for part, sets in _repeat_shingles(search, kind, first[runs]):
            ends = bounds[part.start : part.stop + 1]
            theirs = pairs.slice(ends[0], ends[-1] - ends[0])
            ours = pairs.take(pa.array(runs[part]))
            columns = {name: single_array(ours[name]) for name in ("first", "id")}
            for name in ("second", "other", "texts"):
                columns[name] = pa.LargeListArray.from_arrays(ends - ends[0], single_array(theirs[name]))
            columns["shingles"] = sets
            yield pa.RecordBatch.from_pydict(columns), shard_groups[runs[part]]

    yield from addressed_blocks(f"{kind}-shingles-{shard_group}", blocks(), search.listed.groups)


def verify_by_shingles(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Decide the remaining pairs by the Jaccard similarity of their shingles, and store the results."""
    edges: list[pa.RecordBatch] = []
    fresh: dict[int, list[Verdicts]] = {}
    for chunk in in_chunks(batches, _SHINGLE_BYTES):
        rows = pa.Table.from_batches(chunk).combine_chunks()
        lists = {name: single_array(rows[name]) for name in ("second", "other", "texts", "shingles")}
        second = lists["second"].flatten().to_numpy()
        of = np.repeat(np.arange(len(rows)), np.diff(lists["second"].offsets.to_numpy()))
        order = np.argsort(second, kind="stable")
        second, of = second[order], of[order]
        firsts, ids = rows["first"].to_numpy(), single_array(rows["id"])
        others, texts = (lists[name].flatten().take(pa.array(order)) for name in ("other", "texts"))
        starts = lists["shingles"].offsets.to_numpy()
        own = (starts - starts[0], lists["shingles"].flatten().to_numpy())
        for part, theirs, sets in _read_shingles(search, kind, second):
            mine = of[part]
            pairs = Pairs(firsts[mine], second[part], ids.take(pa.array(mine)), others[part])
            common, union = shared_shingles(own, sets, (mine, theirs))
            similarity = similarity_of(common, union)
            joined = np.flatnonzero(similarity >= search.kinds[kind].settings.min_similarity)
            likeness = similarity[joined]
            edges += pairs.take(joined).matches(likeness, likeness, np.ones(len(joined), np.bool_))
            shard = int(shards_of(pairs.second[:1])[0])
            fresh.setdefault(shard, []).append(Verdicts.of(unpacked_pairs(texts[part]), common, union))
    for shard, tables in fresh.items():
        put_verdicts(search, kind, shard, tables)
    yield from search.to_shards(f"{kind}-compared-{shard_group}", edges, "node")


def _read_shingles(search: Search, kind: Kind, numbers: Words) -> Iterator[tuple[slice, NDArray[np.int64], Sets]]:
    """Yield the shingles of sorted rows, part by part: the rows, the number of the set of each row, and the sets."""
    asked, how = search.shingled(kind)
    scheme = how.scheme(asked.settings)
    for shard, begin, end in shard_ranges(numbers):
        wanted = np.unique(rows_of(numbers[begin:end]))
        texts = load_texts(search, shard, wanted)
        most = 8 * np.minimum(pc.binary_length(texts).to_numpy(), SET_LIMIT)  # bytes that a set may take
        piece = (np.cumsum(most) - most) // _SHINGLE_BYTES
        positions = np.searchsorted(wanted, rows_of(numbers[begin:end]))
        bounds = np.append(run_starts(piece[positions]), len(positions))
        for start, stop in itertools.pairwise(bounds.tolist()):
            lowest, highest = int(positions[start]), int(positions[stop - 1])
            sets = compared_shingles(texts.slice(lowest, highest + 1 - lowest), scheme)
            yield slice(begin + start, begin + stop), positions[start:stop] - lowest, sets


def _repeat_shingles(search: Search, kind: Kind, numbers: Words) -> Iterator[tuple[slice, pa.LargeListArray]]:
    """Yield the shingles of sorted rows, some megabytes at a time; a row that occurs again gets its shingles again."""
    for part, of, (offsets, values) in _read_shingles(search, kind, numbers):
        sets = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
        taken = 8 * np.diff(offsets)[of]
        bounds = [*run_starts((np.cumsum(taken) - taken) // _SHINGLE_BYTES).tolist(), len(of)]
        for begin, end in itertools.pairwise(bounds):
            yield slice(part.start + begin, part.start + end), sets.take(pa.array(of[begin:end]))
