"""Verifies clusters of pictures and videos: cuts the chains that similar pairs form (`filters.duplicates.stars`).

The values of each cluster of three or more different members are brought together, and every member is compared with
every other. A cluster of more than `MOST_VERIFIED` stays as it is, and `max_cluster` raises an alarm.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import orjson
import pyarrow as pa

from winnow.filters.duplicates.perceptual.frames import FrameLists, are_copies, match_shares
from winnow.filters.duplicates.stars import Compare, Likeness, Stars, stars
from winnow.filters.duplicates.vectors.cosines import whole_lengths
from winnow.pipelines.dedupe.clusters import CUT, NAMED, Clusters
from winnow.pipelines.dedupe.embedding import vectors_of
from winnow.pipelines.dedupe.joins import values_of_nodes
from winnow.pipelines.dedupe.nodes import shard_ranges, shards_of
from winnow.pipelines.dedupe.pdq import hash_words
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import ids_column, run_starts, single_array, uint64_column
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.pipelines.store.together import each
from winnow.schemas.recipe.dedupe import MOST_VERIFIED
from winnow.schemas.rows.duplicates import HASH_BITS, OF_VECTORS, Kind

__all__ = ["VERIFIED", "CutChains", "count_cut", "cut_chains", "send_chains"]


def send_chains(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the clusters of a shard group, and send the values of those with three or more different members."""
    held = pa.Table.from_batches(batches).combine_chunks().to_batches()
    put_part(search.store.objects, search.scratch, f"{kind}/{NAMED}", shard_group, held[0])
    named = Clusters.read(held, "root")
    nodes = read_part(search.store.objects, search.scratch, f"{kind}/roots", shard_group)
    texts = named.of(nodes["root"].to_numpy()).texts
    nodes = nodes.take(pa.array(np.flatnonzero((texts > 2) & (texts <= MOST_VERIFIED[kind]))))

    def lines() -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        numbers = nodes["node"].to_numpy()
        for shard, begin, end in shard_ranges(numbers):
            for part, found in values_of_nodes(search, kind, shard, numbers[begin:end]):
                some = nodes.slice(begin + part.start, part.stop - part.start)
                yield some.append_column("value", found["value"]), partition_of_key(some["root"], search.listed.groups)

    yield from addressed_blocks(f"chains-{shard_group}", lines(), search.listed.groups)


def cut_chains(
    search: Search, kind: Kind, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Cut the chains of one partition, and send the new clusters to the shard groups of their members."""
    held = list(batches)
    if not held:
        return
    roots, (high, low) = uint64_column(held, "root"), ids_column(held, "id")
    order = np.lexsort((low, high, roots))
    lines = pa.Table.from_batches(held).take(pa.array(order)).combine_chunks()
    bounds = [*run_starts(roots[order]).tolist(), len(order)]
    counted, sent = CutChains(), []
    for begin, end in itertools.pairwise(bounds):
        members = lines.slice(begin, end - begin)
        found = stars(len(members), VERIFIED[kind](search, single_array(members["value"])))
        if found is not None:
            cut = _clusters(members, found)
            counted += CutChains.of(cut)
            sent.append((cut, search.listed.group_of(shards_of(cut["node"].to_numpy()))))
    note = f"{search.scratch}/{kind}/chains/{partition:08d}.json"
    search.store.objects.put(note, orjson.dumps(counted))
    yield from addressed_blocks(f"cut-{partition}", sent, search.listed.groups)


@dataclass(frozen=True, slots=True)
class CutChains:
    """How many chains were cut, their different members, and what these have come to."""

    chains: int = 0
    members: int = 0
    clusters: int = 0
    alone: int = 0

    @classmethod
    def of(cls, cut: pa.RecordBatch) -> "CutChains":
        """Count one chain."""
        texts = cut["texts"].to_numpy()
        clusters = {cluster for cluster, size in zip(cut["cluster"].to_pylist(), texts, strict=True) if size > 1}
        return cls(1, len(texts), len(clusters), int(np.count_nonzero(texts == 1)))

    def __add__(self, other: "CutChains") -> "CutChains":
        return CutChains(
            self.chains + other.chains,
            self.members + other.members,
            self.clusters + other.clusters,
            self.alone + other.alone,
        )


def count_cut(search: Search, kind: Kind) -> CutChains:
    """Return the sums over all partitions."""
    objects = search.store.objects
    paths = [info.path for info in objects.list(f"{search.scratch}/{kind}/chains/")]
    return sum((CutChains(**orjson.loads(part)) for part in each(objects, objects.read, paths)), CutChains())


def _clusters(members: pa.Table, found: Stars) -> pa.RecordBatch:
    """The clusters of the members of a chain, which are in the order of their ids."""
    _, first, star = np.unique(found.centre, return_index=True, return_inverse=True)
    sizes = np.bincount(star, members["size"].to_numpy()).astype(np.int64)
    ids = single_array(members["id"])
    columns = [
        single_array(members["node"]),
        ids.take(pa.array(first[star])),
        pa.array(sizes[star]),
        pa.array(np.bincount(star)[star]),
        ids.take(pa.array(found.matched)),
        pa.array(found.there),
        pa.array(found.back),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CUT)


def _hashes(search: Search, values: pa.Array) -> Compare:
    assert search.pdq is not None
    hashes, radius = hash_words(values), search.pdq.radius

    def compare(lines: slice) -> Likeness:
        apart = np.bitwise_count(hashes[lines, None] ^ hashes[None]).sum(axis=2, dtype=np.int64)
        similarity = 1 - apart / HASH_BITS
        return Likeness(similarity, similarity, apart <= radius)

    return compare


def _vectors(search: Search, values: pa.Array, kind: Kind) -> Compare:
    vectors, least = vectors_of(values), search.cosines[kind].min_similarity
    lengths, columns = whole_lengths(vectors), vectors.astype(np.float32).T

    def compare(lines: slice) -> Likeness:
        products = (vectors[lines].astype(np.float32) @ columns).astype(np.float64)
        cosines = np.minimum(products / (lengths[lines, None] * lengths[None]), 1.0)
        return Likeness(cosines, cosines, cosines >= least)

    return compare


def _videos(search: Search, values: pa.Array) -> Compare:
    config = search.vpdq
    assert config is not None
    videos = FrameLists.of(values.to_pylist())

    def compare(lines: slice) -> Likeness:
        there = np.arange(len(values))
        here = there[lines]
        one, other = np.repeat(here, len(there)), np.tile(there, len(here))
        shares = match_shares(videos, videos, (one, other), config.radius)
        enough = are_copies(shares, (videos.sizes[one], videos.sizes[other]), config)
        shape = (len(here), len(there))
        return Likeness(shares[0].reshape(shape), shares[1].reshape(shape), enough.reshape(shape))

    return compare


VERIFIED: Final[Mapping[Kind, Callable[[Search, pa.Array], Compare]]] = {
    "pdq": _hashes,
    "vpdq": _videos,
    **{kind: partial(_vectors, kind=kind) for kind in OF_VECTORS},
}
"""The kinds whose clusters are verified, and how their members are compared."""
