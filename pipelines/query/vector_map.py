"""A map of vectors: some rows of a layer of embeddings in two dimensions, in clusters named by words of their texts.

Clusters are those of spherical k-means, and the two dimensions the principal components of all vectors: a point's place
depends on its vector alone, and equal vectors give equal maps. Methods of neighbour graphs such as UMAP separate more,
need more packages and take minutes; embedding-atlas offers one for the same rows.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.reading.text_previews import EXCERPT_CHARACTERS, TextPreview, read_previews
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.records import Generation

MOST: Final = 50_000
NEIGHBOURS: Final = 15
CLUSTERS: Final = 24
WORDS: Final = 3

_RUNS: Final = 64  # of successive rows, spread over the store: so many parts of files are read
_ROUNDS: Final = 20
_EACH: Final = 40  # rows of a cluster, at least, on average
_LINES: Final = 512  # vectors compared with all others at once
_LEAST: Final = 3  # texts that have a word, at least
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]{2,40}")

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SampledVectors:
    """Vectors of some rows, or of their items."""

    rows: Rows  # numbers in the order of the samples' manifest
    items: Rows  # 0 where rows have one vector
    vectors: Floats


@dataclass(frozen=True)
class VectorMap:
    """Where each vector is, and which cluster it is in."""

    points: Floats  # two numbers each
    clusters: NDArray[np.int16]  # the largest is 0

    @property
    def sizes(self) -> list[int]:
        """The number of vectors in each cluster."""
        return [int(one) for one in np.bincount(self.clusters)]


def spread_rows(rows: Rows, most: int) -> Rows:
    """Some of these rows, in runs that are spread over all of them; all, if there are no more than `most`."""
    if len(rows) <= most:
        return rows
    runs = min(_RUNS, most)
    long = most // runs
    starts = np.linspace(0, len(rows) - long, runs).astype(np.int64)
    return rows[np.unique(starts[:, None] + np.arange(long))]


def read_vectors(
    store: Store, generation: Generation, layer: str, starts: Rows, rows: Rows, most: int | None = None
) -> SampledVectors:
    """The vectors of these ascending rows, as far as they have any; `starts`: the first row of each shard, and the
    end.

    `most`: of rows with many vectors only the first are read, so that there are no more than this, or one of each row.
    """
    bounds = np.searchsorted(rows, starts)
    found: list[tuple[Rows, Rows, Floats]] = []
    for number, shard in enumerate(store.manifest(generation, layer)):
        own = rows[bounds[number] : bounds[number + 1]]
        if len(own):
            check_cancelled()
            table = read_rows(store.objects, shard.object, (own - starts[number]).tolist(), ["vector"])
            vectors = _vectors(own, table["vector"].combine_chunks())
            found.append(
                vectors if most is None else _first_of_each(*vectors, max(len(own), most * len(own) // len(rows)))
            )
    lengths = Counter(one[2].shape[1] for one in found if len(one[0]))
    wide = lengths.most_common(1)[0][0] if lengths else 0  # layers of several keys may have vectors of other models
    some = [one for one in found if len(one[0]) and one[2].shape[1] == wide]
    if not some:
        return SampledVectors(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32))
    joined = [np.concatenate(arrays) for arrays in zip(*some, strict=True)]
    return SampledVectors(joined[0], joined[1], joined[2])


def sampled_texts(
    store: Store, generation: Generation, text: tuple[str, ...], starts: Rows, rows: Rows
) -> list[TextPreview]:
    """The beginning of each row's text, or of its captions where it has none. No row may be forgotten."""
    shards = np.searchsorted(starts, rows, side="right") - 1
    manifest = store.manifest(generation, layout.SAMPLES)
    names = {number: manifest[number].shard for number in np.unique(shards).tolist()}
    places = [(names[shard], row) for shard, row in zip(shards.tolist(), (rows - starts[shards]).tolist(), strict=True)]
    wanted: dict[str, set[int]] = {}
    for shard, row in places:
        wanted.setdefault(shard, set()).add(row)
    found = read_previews(store, generation, text, wanted)
    for shard, numbers in wanted.items():
        lacking = sorted(row for row in numbers if not found[shard, row].text)
        if lacking:
            captions = read_rows(store.objects, manifest.by_shard[shard].object, lacking, ["captions"])["captions"]
            for row, said in zip(lacking, captions.to_pylist(), strict=True):
                joined = " ".join(one["text"] for one in said or ())[:EXCERPT_CHARACTERS]
                found[shard, row] = replace(found[shard, row], text=joined)
    return [found[place] for place in places]


def _vectors(rows: Rows, values: pa.Array) -> tuple[Rows, Rows, Floats]:
    items = np.zeros(len(rows), np.int64)
    if pa.types.is_list(values.type.value_type):  # one for each item
        counts = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        items = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows, values = np.repeat(rows, counts), values.flatten()
    there = values.is_valid().to_numpy(zero_copy_only=False)
    flat = values.filter(pa.array(there)).flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    count = int(there.sum())
    return rows[there], items[there], flat.reshape(count, -1) if count else np.zeros((0, 0), np.float32)


def _first_of_each(rows: Rows, items: Rows, vectors: Floats, most: int) -> tuple[Rows, Rows, Floats]:
    """The first vector of every row, then the second of those that have two, and so on, up to a number of vectors."""
    if len(rows) <= most:
        return rows, items, vectors
    before = np.arange(len(rows)) - np.searchsorted(rows, rows)  # vectors of the same row
    some = np.sort(np.argsort(before, kind="stable")[:most])
    return rows[some], items[some], vectors[some]


def map_vectors(vectors: Floats) -> VectorMap:
    """Cluster the vectors, and bring them to two dimensions."""
    if not len(vectors):
        return VectorMap(np.zeros((0, 2), np.float32), np.zeros(0, np.int16))
    unit = unit_length(vectors)
    clusters = _clusters(unit, max(1, min(CLUSTERS, len(unit) // _EACH)))
    return VectorMap(_in_two_dimensions(unit), clusters)


def unit_length(vectors: Floats) -> Floats:
    """The directions of vectors."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


def _clusters(unit: Floats, count: int) -> NDArray[np.int16]:
    """Spherical k-means from starting points that are far apart; the largest cluster has number 0."""
    centres = unit[[0]]
    nearest = unit @ centres[0]
    while len(centres) < count:
        check_cancelled()
        farthest = int(np.argmin(nearest))
        centres = np.concatenate([centres, unit[[farthest]]])
        nearest = np.maximum(nearest, unit @ unit[farthest])
    numbers = np.zeros(len(unit), np.int64)
    for _ in range(_ROUNDS):
        check_cancelled()
        before, numbers = numbers, np.argmax(unit @ centres.T, axis=1)
        sums = np.zeros_like(centres, dtype=np.float64)
        np.add.at(sums, numbers, unit)
        there = np.bincount(numbers, minlength=len(centres)) > 0
        centres = np.where(there[:, None], unit_length(sums.astype(np.float32)), centres)
        if np.array_equal(before, numbers):
            break
    sizes = np.bincount(numbers, minlength=len(centres))
    order = np.argsort(-sizes, kind="stable")
    renamed = np.empty_like(order)
    renamed[order] = np.arange(len(order))
    found: NDArray[np.int16] = renamed[numbers].astype(np.int16)
    return found


def _in_two_dimensions(unit: Floats) -> Floats:
    """The two principal components, each scaled to -1 to 1."""
    centred = unit - unit.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    chosen = directions[:, ::-1][:, :2]
    largest = np.argmax(np.abs(chosen), axis=0)  # a direction's sign means nothing: its largest number is positive
    points = centred @ (chosen * np.sign(chosen[largest, np.arange(chosen.shape[1])]))
    scale = np.abs(points).max(axis=0, initial=0)
    found = np.zeros((len(unit), 2), np.float32)
    found[:, : points.shape[1]] = points / np.where(scale > 0, scale, 1)
    return found


def neighbours(vectors: Floats, count: int = NEIGHBOURS) -> tuple[NDArray[np.int32], Floats]:
    """The most similar other vectors of each, and their cosine distances, nearest first."""
    unit = unit_length(vectors)
    count = min(count, max(0, len(unit) - 1))
    found, far = np.zeros((len(unit), count), np.int32), np.zeros((len(unit), count), np.float32)
    for begin in range(0, len(unit) if count else 0, _LINES):
        similar = unit[begin : begin + _LINES] @ unit.T
        own = np.arange(len(similar))
        similar[own, begin + own] = -2
        best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
        values = np.take_along_axis(similar, best, axis=1)
        order = np.lexsort((best, -values))
        found[begin : begin + _LINES] = np.take_along_axis(best, order, axis=1)
        far[begin : begin + _LINES] = 1 - np.take_along_axis(values, order, axis=1)
    return found, far


def cluster_words(texts: Sequence[str], clusters: NDArray[np.int16]) -> list[str]:
    """A name for each cluster: the words that its texts have and others lack (tf-idf over texts); `(no words)`."""
    count = int(clusters.max(initial=-1)) + 1
    of_cluster = [Counter[str]() for _ in range(count)]
    for text, cluster in zip(texts, clusters.tolist(), strict=True):
        check_cancelled()
        of_cluster[cluster].update(_words(text))
    together: Counter[str] = sum(of_cluster, Counter())
    sizes = np.bincount(clusters, minlength=count)
    return [_name(own, together, int(size), len(texts)) for own, size in zip(of_cluster, sizes, strict=True)]


def _name(own: Counter[str], together: Mapping[str, int], size: int, texts: int) -> str:
    weights = {
        word: number / size * float(np.log(texts / together[word]))
        for word, number in own.items()
        if number >= min(_LEAST, size)
    }
    best = sorted((word for word in weights if weights[word] > 0), key=lambda word: (-weights[word], word))
    return ", ".join(best[:WORDS]) or "(no words)"


def _words(text: str) -> set[str]:
    """The words of a text; of scripts without spaces, pairs of letters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        found.update([word] if not _UNSPACED.search(word) else (word[at : at + 2] for at in range(len(word) - 1)))
    return found
