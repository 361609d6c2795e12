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
from winnow.pipelines.dedupe.clusters import edges_batch
from winnow.pipelines.dedupe.compared import IDS
from winnow.pipelines.dedupe.groups import values_of_groups
from winnow.pipelines.dedupe.matches import compared_pairs, send_pairs
from winnow.pipelines.dedupe.nodes import nodes_of_rows, rows_of, whole_rows
from winnow.pipelines.dedupe.search import Search, signature_matrix
from winnow.pipelines.dedupe.verdicts import Verdicts, digest_pairs, load_verdicts, put_verdicts
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route, partition_of_key
from winnow.pipelines.running.row_arrays import run_starts, uint64_column, with_id_bits
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

    return Route(search.listed.groups, partitions).send(shard_group, keys())


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
            unresolved.append(edges_batch((found.pairs.first[unknown_at], found.pairs.second[unknown_at])))
    yield from search.to_shards(f"{kind}-judged-{shard_group}", edges, "node")
    yield from search.to_shards(f"{UNRESOLVED}-{kind}-{shard_group}", unresolved, "first")


def verify_by_shingles(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Decide the remaining pairs by the Jaccard similarity of their shingles, and store the results."""
    min_similarity = search.kinds[kind].settings.min_similarity
    edges: list[pa.RecordBatch] = []
    fresh: dict[int, list[Verdicts]] = {}
    for found in compared_pairs(search, kind, batches, shingles_of_nodes):
        ours, theirs = (_sets(side["value"]) for side in (found.firsts, found.seconds))
        common, union = shared_shingles(ours, theirs, (found.of, np.arange(len(found.of))))
        similarity = similarity_of(common, union)
        joined = np.flatnonzero(similarity >= min_similarity)
        likeness = similarity[joined]
        edges += found.pairs.take(joined).matches(likeness, likeness, np.ones(len(joined), np.bool_))
        texts = digest_pairs(found.firsts["digest"].take(pa.array(found.of)), found.seconds["digest"])
        fresh.setdefault(found.shard, []).append(Verdicts.of(texts, common, union))
    for shard, tables in fresh.items():
        put_verdicts(search, kind, shard, tables)
    yield from search.to_shards(f"{kind}-compared-{shard_group}", edges, "node")


def shingles_of_nodes(search: Search, kind: Kind, shard: int, nodes: Words) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Yield the ids, digests and shingles of some rows of a shard, some megabytes at a time.

    The rows are sorted; one that occurs again gets its shingles again.
    """
    asked, how = search.shingled(kind)
    scheme, digest, rows = how.scheme(asked.settings), Column(asked.layer, "digest"), rows_of(nodes)
    for at, batch in search.listed.read(shard, list(dict.fromkeys([*search.text, digest, IDS]))):
        first, last = np.searchsorted(rows, (at, at + len(batch[IDS.name])))
        here = rows[first:last] - at
        wanted, of = np.unique(here, return_inverse=True)
        texts = first_text([batch[column.name].take(pa.array(wanted)) for column in search.text])
        most = 8 * np.minimum(pc.binary_length(texts).to_numpy(), SET_LIMIT)  # bytes that a set may take
        for start, stop in _portions(most, of):
            lowest, highest = int(of[start]), int(of[stop - 1])
            offsets, values = compared_shingles(texts.slice(lowest, highest + 1 - lowest), scheme)
            sets, which = pa.LargeListArray.from_arrays(offsets, values), of[start:stop] - lowest
            taken = 8 * np.diff(offsets)[which]
            for begin, end in _portions(taken, np.arange(len(taken))):
                of_rows = pa.array(here[start + begin : start + end])
                columns = [batch[IDS.name].take(of_rows), batch[digest.name].take(of_rows)]
                columns.append(sets.take(pa.array(which[begin:end])))
                part = slice(first + start + begin, first + start + end)
                yield part, pa.RecordBatch.from_arrays(columns, ["id", "digest", "value"])


def _portions(sizes: NDArray[np.int64], of: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut lines, each with the number of what it holds, into portions of things of some megabytes together."""
    pieces = (np.cumsum(sizes) - sizes) // _SHINGLE_BYTES
    return itertools.pairwise([*run_starts(pieces[of]).tolist(), len(of)])


def _sets(lists: pa.LargeListArray) -> Sets:
    starts = lists.offsets.to_numpy()
    return starts - starts[0], lists.flatten().to_numpy()
