"""Verifies clusters of kinds that say how: cuts the chains that similar pairs form (`filters.duplicates.stars`).

The values of each cluster of three or more different members are brought together, and every member is compared with
every other. A cluster of more than `Chains.most` stays as it is, and `max_cluster` raises an alarm.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa

from winnow.filters.duplicates.stars import Stars, stars
from winnow.pipelines.dedupe.clusters import CUT, NAMED, Clusters
from winnow.pipelines.dedupe.groups import values_of_nodes
from winnow.pipelines.dedupe.nodes import shard_ranges
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import ids_column, run_starts, single_array, uint64_column
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.pipelines.store.concurrency import map_objects
from winnow.schemas.rows.duplicates import Kind


def send_chains(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the clusters of a shard group, and send the values of those with three or more different members."""
    chains = search.chains(kind)
    assert chains is not None
    held = pa.Table.from_batches(batches).combine_chunks().to_batches()
    put_part(search.store.objects, search.scratch, f"{kind}/{NAMED}", shard_group, held[0])
    named = Clusters.read(held, "root")
    nodes = read_part(search.store.objects, search.scratch, f"{kind}/roots", shard_group)
    texts = named.of(nodes["root"].to_numpy()).texts
    nodes = nodes.take(pa.array(np.flatnonzero((texts > 2) & (texts <= chains.most))))

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
    held, chains = list(batches), search.chains(kind)
    if not held or chains is None:
        return
    roots, (high, low) = uint64_column(held, "root"), ids_column(held, "id")
    order = np.lexsort((low, high, roots))
    lines = pa.Table.from_batches(held).take(pa.array(order)).combine_chunks()
    bounds = [*run_starts(roots[order]).tolist(), len(order)]
    counted, sent = CutChains(), []
    for begin, end in itertools.pairwise(bounds):
        members = lines.slice(begin, end - begin)
        found = stars(len(members), chains.compare(search.kinds[kind].settings, single_array(members["value"])))
        if found is not None:
            cut = _clusters(members, found)
            counted += CutChains.of(cut)
            sent.append(cut)
    note = f"{search.scratch}/{kind}/chains/{partition:08d}.json"
    search.store.objects.put(note, orjson.dumps(counted))
    yield from search.to_shards(f"cut-{partition}", sent, "node")


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
    return sum((CutChains(**orjson.loads(part)) for part in map_objects(objects, objects.read, paths)), CutChains())


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
