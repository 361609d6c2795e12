"""Finds pictures, and videos, whose embeddings point the same way: cells of the space of vectors, and cosines
within each cell.

Before vectors are sent, a sample of them is brought to one task, which finds the centroids of cells (`train_cells`).
The sample is made of the vectors with the smallest digests, so it depends on neither shards nor workers. Each vector
goes to its two nearest cells; cells are spread over blocks, and each is joined alone, by exact products.

A pair whose vectors share no cell is missed. How many are is measured: up to 256 vectors of the sample are compared
with every vector that is sent (`recall`).
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.vectors.cells import CELLS_OF_ONE, nearest_cells, train_cells
from winnow.filters.duplicates.vectors.cosines import Vectors, join_cosines, whole_lengths
from winnow.pipelines.dedupe.blocks import BlockPairs, Positions, Sent
from winnow.pipelines.dedupe.compared import IDS, READERS, require_one_length
from winnow.pipelines.dedupe.groups import GROUP_SUMMARIES, empty_blocks
from winnow.pipelines.dedupe.search import Search, read_shard
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partitions_for
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.pipelines.store.together import each
from winnow.schemas.rows.duplicates import Kind

__all__ = ["SAMPLED", "CosineBlocks", "Recall", "recall", "sample_vectors", "train", "vectors_of"]

SAMPLED = pa.schema([pa.field("digest", pa.uint64()), pa.field("value", pa.large_binary())])
"""What shards send to the task that finds the centroids."""

_SAMPLE: Final = 1 << 16  # vectors: 1,638 cells of 40
_SAMPLE_BYTES: Final = 256 << 20
_PROBES: Final = 256
_LINE_BYTES: Final = 4096  # about: a vector of some 2,000 numbers, its node and id


def sample_vectors(shard_group: int, search: Search, kind: Kind, rows: int) -> Iterator[AddressedBlock]:
    """Send the vectors whose digests are small enough that about `_SAMPLE` of the whole store are sent.

    `rows` are those of the store: an item of a row takes part with the same chance.
    """
    bound = _bound(rows)
    reader = READERS[kind]

    def sampled() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        columns = [*reader.columns(search), IDS]
        read = (read_shard(search, shard, columns) for shard in search.listed.in_group(shard_group))
        for _, batch in itertools.chain.from_iterable(read):
            found = reader.compared(search, batch)
            assert found.values is not None
            digests = _leading(found.digests)
            chosen = np.flatnonzero(digests <= bound)
            chosen = chosen[np.unique(digests[chosen], return_index=True)[1]][:_SAMPLE]
            lines = [pa.array(digests[chosen]), found.values.take(pa.array(chosen))]
            yield pa.RecordBatch.from_arrays(lines, schema=SAMPLED), np.zeros(len(chosen), np.uint32)

    return addressed_blocks(f"{kind}-sample-{shard_group}", sampled(), 1)


def train(search: Search, kind: Kind, rows: int, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Store the centroids; then let every shard group send its vectors."""
    held = pa.Table.from_batches(batches, schema=SAMPLED)
    digests, at = np.unique(held["digest"].to_numpy(), return_index=True)
    vectors = round(len(digests) * (2.0**64 / (float(_bound(rows)) + 1)))
    lengths = np.unique([len(one) for one in held["value"].to_pylist()])
    require_one_length([length // 2 for length in lengths.tolist()], kind)
    most = min(_SAMPLE, _SAMPLE_BYTES // (2 * int(lengths[0]))) if len(lengths) else 0
    values = held["value"].take(pa.array(at[:most])).combine_chunks()
    sample = vectors_of(values)
    centroids = train_cells(sample, vectors) if len(sample) else sample
    for what, some in (("cells", centroids), ("probes", sample[:_PROBES])):
        raw = pa.array([one.astype("<i2").tobytes() for one in some], pa.large_binary())
        put_part(search.store.objects, search.scratch, f"{kind}/{what}", 0, pa.record_batch([raw], ["value"]))
    yield from empty_blocks(search.listed.groups, "cells", GROUP_SUMMARIES)


@dataclass(frozen=True, slots=True)
class CosineBlocks:
    """Blocks are some cells each; a pair is similar if its cosine is at least `min_similarity`."""

    kind: Kind

    def blocks(self, _: Search, nodes: int) -> int:
        """The number of blocks."""
        return partitions_for(CELLS_OF_ONE * nodes * _LINE_BYTES)

    def send(self, search: Search, values: pa.Array, blocks: int, origin: str) -> Iterator[Sent]:
        """Yield positions of vectors, the block of each, and the cell within it."""
        if not len(values):
            return
        centroids, probes = (_stored(search, self.kind, what) for what in ("cells", "probes"))
        require_one_length(sorted({len(one) // 2 for one in values.to_pylist()} | {centroids.shape[1]}), self.kind)
        vectors = vectors_of(values)
        cells = nearest_cells(vectors, centroids)
        least = search.cosines[self.kind].min_similarity
        found = _similar_pairs(vectors, cells, probes, nearest_cells(probes, centroids), least)
        if found.pairs:
            path = f"{search.scratch}/{self.kind}/recall/{origin}.json"
            search.store.objects.put(path, orjson.dumps({"pairs": found.pairs, "found": found.found}))
        for column in range(cells.shape[1]):
            yield Sent(np.arange(len(vectors)), cells[:, column] % blocks, cells[:, column])

    def join(self, search: Search, values: pa.Array, parts: Positions, _: int, __: int) -> BlockPairs:
        """Join the vectors of each cell."""
        vectors = vectors_of(values)
        order = np.argsort(parts, kind="stable")
        bounds = np.flatnonzero(np.diff(parts[order], prepend=-1, append=-1))
        matched, nearest, similarity = [_NONE], [_NONE], [np.zeros(0)]
        roots, leaves = [_NONE], [_NONE]
        for begin, end in itertools.pairwise(bounds.tolist()):
            members = order[begin:end]
            found = join_cosines(vectors[members], search.cosines[self.kind].min_similarity)
            matched.append(members[found.matched])
            nearest.append(members[found.nearest])
            similarity.append(found.cosine)
            roots.append(members[found.forest[0].astype(np.int64)])
            leaves.append(members[found.forest[1].astype(np.int64)])
        forest = (np.concatenate(roots), np.concatenate(leaves))
        best = (np.concatenate(matched), np.concatenate(nearest))
        return BlockPairs(*best, np.concatenate(similarity), True, forest)


@dataclass(frozen=True, slots=True)
class Recall:
    """How many pairs sampled vectors are in by exact products, and how many of these share a cell."""

    pairs: int
    found: int


def recall(search: Search, kind: Kind) -> Recall:
    """Return the sums over all that was sent."""
    objects = search.store.objects
    paths = [info.path for info in objects.list(f"{search.scratch}/{kind}/recall/")]
    parts = [orjson.loads(part) for part in each(objects, objects.read, paths)]
    return Recall(sum(part["pairs"] for part in parts), sum(part["found"] for part in parts))


_NONE: Final = np.zeros(0, np.int64)


def _similar_pairs(
    vectors: Vectors, cells: Positions, probes: Vectors, theirs: Positions, min_similarity: float
) -> Recall:
    """Count how many pairs of a probe and a vector are similar, and how many of these share a cell."""
    pairs = found = 0
    lengths, others = whole_lengths(vectors), whole_lengths(probes)
    columns = probes.astype(np.float32).T
    for begin in range(0, len(vectors), 4096):
        part = slice(begin, begin + 4096)
        cosines = vectors[part].astype(np.float32) @ columns / np.outer(lengths[part], others)
        one, other = np.nonzero(cosines >= min_similarity)
        strangers = (vectors[part][one] != probes[other]).any(axis=1)  # a probe is no pair with itself
        one, other = one[strangers], other[strangers]
        pairs += len(one)
        shared = cells[part][one][:, :, None] == theirs[other][:, None, :]
        found += int(shared.any(axis=(1, 2)).sum())
    return Recall(pairs, found)


def _stored(search: Search, kind: Kind, what: str) -> Vectors:
    return vectors_of(read_part(search.store.objects, search.scratch, f"{kind}/{what}", 0)["value"])


def vectors_of(values: pa.Array) -> Vectors:
    """Return the vectors of binary values, all of one length."""
    held = values.to_pylist()
    return np.frombuffer(b"".join(held), "<i2").reshape(len(held), -1 if held else 0).astype(np.int16)


def _bound(rows: int) -> np.uint64:
    """Return the largest digest of the sample, among digests of 64 bits."""
    return np.uint64(min((1 << 64) - 1, (_SAMPLE << 64) // max(rows, 1)))


def _leading(digests: pa.FixedSizeBinaryArray) -> NDArray[np.uint64]:
    """Return the first 64 bits of digests."""
    width = digests.type.byte_width
    raw = np.frombuffer(digests.buffers()[1] or b"", np.uint8, len(digests) * width, digests.offset * width)
    return raw.reshape(-1, width)[:, :8].copy().view(">u8").reshape(-1).astype(np.uint64)
