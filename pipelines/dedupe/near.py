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
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.groups import places_other_than_roots, put_members
from winnow.pipelines.dedupe.matches import Pairs, both_directions, by_second, with_firsts
from winnow.pipelines.dedupe.nodes import nodes_of_rows, rows_of, rows_of_places, shard_ranges, shards_of
from winnow.pipelines.dedupe.search import Search, load_texts, read_shard, signature_matrix, signatures_of
from winnow.pipelines.dedupe.verdicts import (
    Verdicts,
    digest_pairs,
    load_verdicts,
    packed_pairs,
    put_verdicts,
    unpacked_pairs,
)
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import (
    global_rows,
    run_starts,
    single_array,
    uint64_column,
    with_id_bits,
)
from winnow.pipelines.store import layout
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.uint128 import Words, words_of

KEY_BYTES = 16  # a band's key and a row's number
UNRESOLVED = "unresolved"
"""The prefix of the origin of blocks with pairs that signatures cannot decide."""

_SIGNATURE_BYTES = 64 << 20  # signatures held at once
_SHINGLE_BYTES = 64 << 20  # shingles held at once


def send_bands(
    search: Search, kind: Kind, partitions: int, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the groups of equal texts of a shard group, and send the bands of one row of each group."""
    asked, how = search.shingled(kind)
    layer, near = asked.layer, asked.settings

    def keys() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        for shard, members in put_members(search, kind, shard_group, batches):
            left_out = rows_of_places(places_other_than_roots(members))
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
                rows = with_id_bits(global_rows(shard, at + chosen), ids)
                found = pa.array(how.keys(near, signatures))
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
    first, second = nodes_of_rows(found.first), nodes_of_rows(found.second)
    block = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=EDGES)
    shard_groups = search.listed.group_of(shards_of(first))
    yield from addressed_blocks(f"{kind}-pairs-{partition}", [(block, shard_groups)], search.listed.groups)


def send_signatures(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the signatures of the pairs' first rows, once to each shard group with second rows for them."""

    def read(shard: int, nodes: Words) -> Iterator[tuple[slice, dict[str, pa.Array]]]:
        for part, signed in signatures_of(search, kind, shard, rows_of(nodes)):
            signatures = _hash_column(signed.values)
            yield part, {"id": signed.ids, "digest": signed.digests, "signature": signatures}

    blocks = with_firsts(search, batches, read)
    yield from addressed_blocks(f"{kind}-signatures-{shard_group}", blocks, search.listed.groups)


def verify_by_signature(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Decide each pair by its signatures or by an earlier comparison, and send edges to both rows' shard groups.

    Pairs that remain undecided are sent back to the shard groups of their first rows.
    """
    asked, how = search.shingled(kind)
    hashes, min_similarity = asked.settings.hashes, asked.settings.min_similarity
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    unresolved: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
    for chunk in in_chunks(batches, _SIGNATURE_BYTES):
        rows, second, of = by_second(chunk)
        firsts = rows["first"].to_numpy()
        ids, digests = single_array(rows["id"]), single_array(rows["digest"])
        signatures = signature_matrix(single_array(rows["signature"]), hashes)
        for shard, begin, end in shard_ranges(second):
            known = load_verdicts(search, kind, shard)
            for part, signed in signatures_of(search, kind, shard, rows_of(second[begin:end])):
                mine = of[begin:end][part]
                pairs = Pairs(firsts[mine], second[begin:end][part], ids.take(pa.array(mine)), signed.ids)
                verdict, similarity = how.judge(asked.settings, signatures[mine], signed.values)
                unclear = np.flatnonzero(verdict == UNCLEAR)
                texts = digest_pairs(digests.take(pa.array(mine[unclear])), signed.digests.take(pa.array(unclear)))
                exact = known.similarities(texts)
                unknown = np.isnan(exact)
                unknown_at, known_at = unclear[unknown], unclear[~unknown]
                similarity[known_at] = exact[~unknown]
                verdict[known_at] = np.where(similarity[known_at] >= min_similarity, ABOVE, BELOW)
                exactly = np.zeros(len(verdict), np.bool_)
                exactly[known_at] = True
                edges += both_directions(
                    search, pairs, (similarity, similarity), exactly, np.flatnonzero(verdict == ABOVE)
                )
                columns = {**pairs.take(unknown_at).columns(), "texts": packed_pairs(texts[unknown])}
                unresolved.append(
                    (
                        pa.RecordBatch.from_pydict(columns),
                        search.listed.group_of(shards_of(pairs.first[unknown_at])),
                    )
                )
    yield from addressed_blocks(f"{kind}-judged-{shard_group}", edges, search.listed.groups)
    yield from addressed_blocks(f"{UNRESOLVED}-{kind}-{shard_group}", unresolved, search.listed.groups)


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
    edges: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
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
            edges += both_directions(
                search, pairs, (similarity, similarity), np.ones(len(similarity), np.bool_), joined
            )
            shard = int(shards_of(pairs.second[:1])[0])
            fresh.setdefault(shard, []).append(Verdicts.of(unpacked_pairs(texts[part]), common, union))
    for shard, tables in fresh.items():
        put_verdicts(search, kind, shard, tables)
    yield from addressed_blocks(f"{kind}-compared-{shard_group}", edges, search.listed.groups)


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


def _hash_column(rows: NDArray[np.uint32]) -> pa.FixedSizeBinaryArray:
    """Return rows of hashes as a column."""
    buffer = pa.py_buffer(np.ascontiguousarray(rows, "<u4"))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * rows.shape[1]), len(rows), [None, buffer])
