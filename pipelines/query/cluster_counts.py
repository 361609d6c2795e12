"""Collects facts about clusters in one pass over layers of duplicates, by batches and in bounded memory.

Every cluster has exactly one row whose own id names it, so counting these rows counts clusters.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.query.cluster_rows import ClusterLines
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.running.shard_list import ListedShard
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.schemas.rows.duplicates import ID_BYTES, Kind, layer_of_kind
from winnow.schemas.uint128 import Words, words_of

BINS = (1, 2, 3, 5, 10, 100, 1000)
"""Lower bounds of the histogram's bins of cluster sizes."""
ESTIMATE = "estimate"
"""The value of `by` for a similarity that is not exact: even if 112 of 112 numbers agree, shingles may differ."""

_Facts = TypeVar("_Facts", tuple[float, bool], tuple[float, str, str, int])
Head: TypeAlias = tuple[int, int, str, int | None]
"""The row that names a cluster: -texts, -rows, id, texts."""

BIN_NAMES = ("1", "2", "3-4", "5-9", "10-99", "100-999", "1000+")


def bin_of(rows: int) -> str:
    """The name of the bin of a cluster's size."""
    return BIN_NAMES[int(np.searchsorted(BINS, rows, "right")) - 1]


@dataclass(frozen=True)
class Cluster:
    """Rows that are equal, or similar."""

    id: str
    rows: int  # when duplicates were searched
    texts: int | None  # distinct texts; only for near duplicates
    found: int = 0  # its rows that are not forgotten
    sources: tuple[tuple[str, int], ...] = ()  # most frequent first
    languages: tuple[tuple[str, int], ...] = ()  # of rows with an identified language
    similarity: float | None = None  # the lowest similarity of a row to its match
    examples: tuple[Place, ...] = ()  # the row that names it, and the row least similar to its match
    exact: bool = False  # whether that similarity is not an estimate


@dataclass(frozen=True)
class Overview:
    """All clusters of one kind."""

    kind: Kind
    rows: int  # of the store, including those not compared
    compared: int
    forgotten: int  # compared rows that were forgotten since
    sizes: tuple[int, ...]  # clusters by size, in `BINS`; the first counts unclustered rows
    clusters: int  # with at least two rows
    clustered: int  # rows in them
    most_rows: int  # in the largest; 0 if there is none
    largest: tuple[Cluster, ...]  # largest first: near duplicates by distinct texts, then by rows
    stale: bool | None = None  # made with other settings than the recipe's, or over other rows; None: unknown

    @property
    def surplus(self) -> int:
        """The rows that would be dropped if each cluster kept one."""
        return self.clustered - self.clusters


@dataclass(frozen=True)
class Membership:
    """The cluster of a row, or of an item, for one kind of duplicates."""

    kind: Kind
    status: str
    cluster: str | None  # None if it was not compared
    rows: int | None
    texts: int | None
    similarity: float | None
    matched: str | None
    by: str | None
    item: int | None = None  # of the row, where items are compared
    id: str = ""  # the row's, or the item's


def hexadecimal(value: bytes | None) -> str | None:
    """An id in hexadecimal."""
    return None if value is None else value.hex()


@dataclass(slots=True)
class LargestClusters:
    """Counts the rows that name clusters by size, and keeps the largest clusters."""

    most: int
    sizes: tuple[int, ...] = (0,) * len(BINS)
    rows: int = 0
    compared: int = 0
    forgotten: int = 0
    clustered: int = 0
    most_rows: int = 0
    kept: tuple[Head, ...] = ()  # in order

    def add(self, kind: Kind, lines: ClusterLines, hidden: NDArray[np.int64], of_size: str = "") -> None:
        """Adds lines of a shard; `hidden` are the shard's forgotten rows.

        `of_size`: the name of the bin whose clusters alone may be among the largest; all are counted.
        """
        layer, batch = layer_of_kind(kind), lines.columns
        ids, size = batch["samples.id"], batch[f"{layer}.size"]
        sizes = pc.fill_null(size, 0).to_numpy(zero_copy_only=False)
        compared = sizes > 0
        (high, low), (own_high, own_low) = words_of(batch[f"{layer}.cluster"]), words_of(ids)
        heads = np.flatnonzero(compared & (high == own_high) & (low == own_low))
        binned = np.bincount(np.searchsorted(BINS, sizes[heads], "right") - 1, minlength=len(BINS))
        heads = heads[sizes[heads] > 1]
        texts = pc.fill_null(batch[f"{layer}.texts"], -1).to_numpy(zero_copy_only=False)
        listed = heads
        if of_size:
            listed = heads[np.searchsorted(BINS, sizes[heads], "right") - 1 == BIN_NAMES.index(of_size)]
        order = np.lexsort((own_low[listed], own_high[listed], -sizes[listed], -texts[listed]))[: self.most]
        chosen = listed[order]
        names = ids.take(pa.array(chosen)).to_pylist()
        facts = zip(texts[chosen].tolist(), sizes[chosen].tolist(), names, strict=True)
        self.absorb(
            LargestClusters(
                self.most,
                tuple(binned.tolist()),
                len(ids),
                int(compared.sum()),
                int(compared[np.isin(lines.rows, hidden)].sum()),
                int(sizes[heads].sum()),
                int(sizes[heads].max(initial=0)),
                tuple((-many, -rows, name.hex(), None if many < 0 else many) for many, rows, name in facts),
            )
        )

    def absorb(self, other: "LargestClusters") -> None:
        """Adds the counts of other rows."""
        self.sizes = tuple(map(sum, zip(self.sizes, other.sizes, strict=True)))
        self.rows += other.rows
        self.compared += other.compared
        self.forgotten += other.forgotten
        self.clustered += other.clustered
        self.most_rows = max(self.most_rows, other.most_rows)
        self.kept = tuple(sorted((*self.kept, *other.kept), key=lambda one: one[:3])[: self.most])

    @property
    def largest(self) -> list[Cluster]:
        """The largest clusters, with the facts from their naming rows."""
        return [Cluster(name, -rows, texts) for _, rows, name, texts in self.kept]

    def overview(self, kind: Kind, largest: tuple[Cluster, ...]) -> Overview:
        """The overview of everything counted."""
        clusters = sum(self.sizes[1:])
        return Overview(
            kind,
            self.rows,
            self.compared,
            self.forgotten,
            self.sizes,
            clusters,
            self.clustered,
            self.most_rows,
            largest,
        )


@dataclass(slots=True)
class ClusterFacts:
    """The facts collected so far about a shown cluster."""

    sources: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    lowest: tuple[float, bool] | None = None  # similarity, and whether it is exact; on ties, the estimate
    head: tuple[str, int, str] | None = None  # shard, row, id
    other: tuple[float, str, str, int] | None = None  # similarity, id, shard, row

    def absorb(self, other: "ClusterFacts") -> None:
        """Adds facts from other shards."""
        self.sources = dict(Counter(self.sources) + Counter(other.sources))
        self.languages = dict(Counter(self.languages) + Counter(other.languages))
        self.lowest = _least(self.lowest, other.lowest)
        self.head = other.head or self.head
        self.other = _least(self.other, other.other)

    def cluster(self, head: Cluster, samples: Mapping[str, ManifestRow]) -> Cluster:
        """The cluster with the collected facts; examples of items are named by the ids of these."""
        examples = []
        if self.head is not None:
            examples.append(Place(samples[self.head[0]], self.head[1], self.head[2]))
        if self.other is not None:
            examples.append(Place(samples[self.other[2]], self.other[3], self.other[1]))
        similarity, exact = (None, False) if self.lowest is None else self.lowest
        return Cluster(
            head.id,
            head.rows,
            head.texts,
            sum(self.sources.values()),
            _ranked(self.sources),
            _ranked(self.languages),
            similarity,
            tuple(examples),
            exact,
        )


def _ranked(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def gather(
    found: list[ClusterFacts],
    shard: ListedShard,
    lines: ClusterLines,
    chosen: NDArray[np.int64],
    of: NDArray[np.int64],
    layer: str,
) -> None:
    """For each cluster in some lines: the line that names it, the lowest similarity, and the line that has it."""
    taken, batch, rows = pa.array(chosen), lines.columns, lines.rows[chosen]
    ids = batch["samples.id"].take(taken)
    high, low = words_of(ids)
    cluster_high, cluster_low = words_of(batch[f"{layer}.cluster"].take(taken))
    heads = (high == cluster_high) & (low == cluster_low)
    for at in np.flatnonzero(heads).tolist():
        found[of[at]].head = shard.shard, int(rows[at]), ids[at].as_py().hex()
    known = batch[f"{layer}.similarity"].take(taken)
    similarity = pc.fill_null(known, 2.0).to_numpy(zero_copy_only=False)  # above all: equal texts have none
    by = batch[f"{layer}.by"].take(taken)
    exact = pc.fill_null(pc.not_equal(by, ESTIMATE), False).to_numpy(zero_copy_only=False)
    for number, at in _first_of_each(of, similarity, exact):
        if known[at].is_valid:
            found[number].lowest = _least(found[number].lowest, (float(similarity[at]), bool(exact[at])))
    others = np.flatnonzero(~heads)
    for number, place in _first_of_each(of[others], similarity[others], high[others], low[others]):
        at = int(others[place])
        other = float(similarity[at]), ids[at].as_py().hex(), shard.shard, int(rows[at])
        found[number].other = _least(found[number].other, other)


def _least(one: _Facts | None, other: _Facts | None) -> _Facts | None:
    return min((facts for facts in (one, other) if facts is not None), default=None)


def _first_of_each(
    of: NDArray[np.int64], similarity: NDArray[np.float64], *then: Words | NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Each cluster with the position of its least similar row; ties are broken by the other values."""
    order = np.lexsort((*reversed(then), similarity, of))
    numbers, firsts = np.unique(of[order], return_index=True)
    yield from zip(numbers.tolist(), order[firsts].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a cluster, with its layer's values."""

    rank: int
    id: bytes
    shard: str
    row: int
    item: int
    source: str
    similarity: float | None
    matched: bytes | None
    by: str | None

    @property
    def order(self) -> tuple[int, float, bytes]:
        """The sort key of rows."""
        return self.rank, 2.0 if self.similarity is None else self.similarity, self.id


class PickedRows:
    """The first rows of one cluster: the requested row, its match, the naming row, then the others."""

    def __init__(self, own: bytes, membership: Membership, most: int) -> None:
        assert membership.cluster is not None
        self._most = most
        self._cluster = pa.scalar(bytes.fromhex(membership.cluster), pa.binary(ID_BYTES))
        ranked = [
            own,
            *([] if membership.matched is None else [bytes.fromhex(membership.matched)]),
            bytes.fromhex(membership.cluster),
        ]
        self._first = pa.array(list(dict.fromkeys(ranked)), pa.binary(ID_BYTES))
        self._match = None if membership.matched is None else pa.scalar(ranked[1], pa.binary(ID_BYTES))
        self.found = 0
        self.matched: tuple[str, int, bytes] | None = None  # shard, row, id
        self.rows: list[Row] = []

    def add(self, kind: Kind, shard: ManifestRow, lines: ClusterLines) -> None:
        """Adds the cluster's lines."""
        layer, batch = layer_of_kind(kind), lines.columns
        places = pc.fill_null(pc.equal(batch[f"{layer}.cluster"], self._cluster), False)
        rows = np.flatnonzero(places.to_numpy(zero_copy_only=False))
        if not len(rows):
            return
        self.found += len(rows)
        taken = pa.array(rows)
        ids = batch["samples.id"].take(taken)
        similarity = batch[f"{layer}.similarity"].take(taken)
        rank = pc.fill_null(pc.index_in(ids, value_set=self._first), len(self._first)).to_numpy(zero_copy_only=False)
        if self._match is not None and (at := pc.index(ids, self._match).as_py()) >= 0:
            self.matched = shard.shard, int(lines.rows[rows[at]]), self._match.as_py()
        high, low = words_of(ids)
        order = np.lexsort((low, high, pc.fill_null(similarity, 2.0).to_numpy(zero_copy_only=False), rank))
        fresh = []
        for at in order[: self._most].tolist():
            row = int(rows[at])
            fresh.append(
                Row(
                    int(rank[at]),
                    ids[at].as_py(),
                    shard.shard,
                    int(lines.rows[row]),
                    int(lines.items[row]),
                    shard.source,
                    similarity[at].as_py(),
                    batch[f"{layer}.matched"][row].as_py(),
                    batch[f"{layer}.by"][row].as_py(),
                )
            )
        self._keep(fresh)

    def absorb(self, other: "PickedRows") -> None:
        """Adds the cluster's rows in other shards."""
        self.found += other.found
        self.matched = other.matched or self.matched
        self._keep(other.rows)

    def _keep(self, fresh: list[Row]) -> None:
        self.rows = sorted([*self.rows, *fresh], key=lambda one: one.order)[: self._most]
