"""Finds videos that share most of their frames: every pair with a frame in common is compared frame by frame.

Each hash goes to the partitions of its bands with its video's node and id, as those of pictures do (`pdq`); so a video
of ten seconds sends 9 kB where bands are not split. Pairs of videos with a frame in common go to the shard group of the
first, and on to that of the second with the first one's hashes, which are compared with those of the second.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.perceptual.frames import FrameLists, are_copies, match_shares, shared_frames
from winnow.filters.duplicates.perceptual.hamming_partitions import partition_count, send_to_partitions
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.compared import HASH_BYTES
from winnow.pipelines.dedupe.joins import values_of_groups, values_of_nodes
from winnow.pipelines.dedupe.matches import Pairs, both_directions, by_second, with_firsts
from winnow.pipelines.dedupe.nodes import shard_ranges, shards_of
from winnow.pipelines.dedupe.pdq import hash_words, split_bits, split_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.row_arrays import ids_column, run_starts, single_array, uint64_column
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.uint128 import Words

__all__ = ["KIND", "compare_videos", "find_pairs", "frame_partitions", "send_frames", "send_videos"]

KIND: Final[Kind] = "vpdq"

_VIDEO_BYTES: Final = 64 << 20  # hashes of first videos held at once

Positions = NDArray[np.int64]


def frame_partitions(frames: int) -> int:
    """The number of partitions for so many frames."""
    return partition_count(split_bits(frames))


def send_frames(
    search: Search, partitions: int, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the groups of equal videos of a shard group, and send the hashes of one video of each group."""

    def sent() -> Iterator[tuple[pa.RecordBatch, Positions]]:
        for _, videos in values_of_groups(search, KIND, shard_group, batches):
            values = videos["value"].to_pylist()
            of = np.repeat(np.arange(len(values)), [len(value) // HASH_BYTES for value in values])
            raw = pa.py_buffer(b"".join(values))
            hashes = pa.FixedSizeBinaryArray.from_buffers(pa.binary(HASH_BYTES), len(of), [None, raw])
            for positions, parts in send_to_partitions(hash_words(hashes), split_of(partitions)):
                video = pa.array(of[positions])
                columns = [videos["node"].take(video), videos["id"].take(video), hashes.take(pa.array(positions))]
                yield pa.RecordBatch.from_arrays(columns, ["node", "id", "hash"]), parts

    return addressed_blocks(f"frames-{shard_group}", sent(), partitions)


def find_pairs(
    search: Search, partitions: int, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the pairs of videos that a partition of hashes finds to the shard groups of their first videos."""
    assert search.vpdq is not None
    held = list(batches)
    if not held:
        return
    high, low = ids_column(held, "id")
    order = np.lexsort((low, high))  # which pairs a common frame gives does not depend on where videos are stored
    videos = run_starts(high[order], low[order])
    numbers = np.zeros(len(order), np.int64)
    numbers[order] = np.repeat(np.arange(len(videos)), np.diff(np.append(videos, len(order))))
    nodes = uint64_column(held, "node")[order[videos]]
    hashes = hash_words(pa.concat_arrays([batch["hash"] for batch in held]))
    found = shared_frames(hashes, numbers, partition, split_of(partitions), search.vpdq.radius)
    counted = {"buckets": found.frames, "hot_buckets": found.hot_frames, "hot_rows": found.hot_videos}
    search.store.objects.put(f"{search.scratch}/{KIND}/buckets/{partition:08d}.json", orjson.dumps(counted))
    first, second = nodes[found.first], nodes[found.second]
    first, second = np.minimum(first, second), np.maximum(first, second)
    block = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=EDGES)
    shard_groups = search.listed.group_of(shards_of(first))
    yield from addressed_blocks(f"{KIND}-pairs-{partition}", [(block, shard_groups)], search.listed.groups)


def send_videos(search: Search, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Send the hashes of the pairs' first videos, once to each shard group with second videos for them."""

    def read(shard: int, nodes: Words) -> Iterator[tuple[slice, dict[str, pa.Array]]]:
        for part, videos in values_of_nodes(search, KIND, shard, nodes):
            yield part, {"id": videos["id"], "frames": videos["value"]}

    yield from addressed_blocks(f"videos-{shard_group}", with_firsts(search, batches, read), search.listed.groups)


def compare_videos(search: Search, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Compare each pair of videos, and send those that are copies to both videos' shard groups."""
    assert search.vpdq is not None
    edges: list[tuple[pa.RecordBatch, Positions]] = []
    for chunk in in_chunks(batches, _VIDEO_BYTES):
        rows, second, of = by_second(chunk)
        firsts, ids = FrameLists.of(rows["frames"].to_pylist()), single_array(rows["id"])
        nodes = rows["first"].to_numpy()
        for shard, begin, end in shard_ranges(second):
            for part, videos in values_of_nodes(search, KIND, shard, second[begin:end]):
                mine = of[begin:end][part]
                pairs = Pairs(nodes[mine], second[begin:end][part], ids.take(pa.array(mine)), videos["id"])
                theirs = videos["value"].dictionary_encode()  # a video may be the second of many pairs
                seconds, at = FrameLists.of(theirs.dictionary.to_pylist()), theirs.indices.to_numpy().astype(np.int64)
                shares = match_shares(firsts, seconds, (mine, at), search.vpdq.radius)
                found = are_copies(shares, (firsts.sizes[mine], seconds.sizes[at]), search.vpdq)
                exactly = np.ones(len(found), np.bool_)
                edges += both_directions(search, pairs, shares, exactly, np.flatnonzero(found))
    yield from addressed_blocks(f"shares-{shard_group}", edges, search.listed.groups)
