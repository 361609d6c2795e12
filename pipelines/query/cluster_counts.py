"""What is gathered of clusters while layers of duplicates go by, a batch at a time and in bounded memory.

Every cluster has one row whose own id names it, so clusters are counted by these rows, whatever their number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.store.generations import ManifestRow
from winnow.schemas.duplicates import ID_BYTES, Kind, layer_of_kind
from winnow.schemas.uint128 import Words, words_of

BINS = (1, 2, 3, 5, 10, 100, 1000)
"""From these sizes of clusters on there is another bar of the histogram."""
EXACT = ("equal", "jaccard")
"""What `by` says of a similarity that is no estimate: where 112 of 112 numbers agree, shingles may still differ."""

_Facts = TypeVar("_Facts", tuple[float, bool], tuple[float, bytes, str, int])
_Head: TypeAlias = tuple[int, int, bytes, int | None]  # -texts, -rows, id, texts

BIN_NAMES = ("1", "2", "3-4", "5-9", "10-99", "100-999", "1000+")


@dataclass(frozen=True)
class Cluster:
    """Rows that are the same, or alike."""

    id: str
    rows: int  # when it was searched for
    texts: int | None  # that are different; of near duplicates alone
    found: int = 0  # rows of it that are not forgotten
    sources: tuple[tuple[str, int], ...] = ()  # the most frequent first
    languages: tuple[tuple[str, int], ...] = ()  # of those that were identified
    similarity: float | None = None  # the lowest of a row to the one that it matched
    examples: tuple[Place, ...] = ()  # the row that names it, and the one that is least like what it matched
    exact: bool = False  # whether no row has that similarity by an estimate


@dataclass(frozen=True)
class Overview:
    """All clusters of one kind."""

    kind: Kind
    rows: int  # of the store, those that were not compared among them
    compared: int
    forgotten: int  # of the compared, since then
    sizes: tuple[int, ...]  # clusters by size, as `BINS` has them; the first are rows that are alone
    clusters: int  # of two rows or more
    clustered: int  # rows in them
    most_rows: int  # of one of them; 0 where there is none
    largest: tuple[Cluster, ...]  # the largest first: near duplicates by different texts, then by rows
    stale: bool | None = None  # made with other settings than the recipe's, or over other rows; None: not known

    @property
    def surplus(self) -> int:
        """The rows that would go if one of each cluster stayed."""
        return self.clustered - self.clusters


@dataclass(frozen=True)
class Membership:
    """What one kind of duplicates says of a row."""

    kind: Kind
    status: str
    cluster: str | None  # null where it was not compared
    rows: int | None
    texts: int | None
    similarity: float | None
    matched: str | None
    by: str | None


def hexadecimal(value: bytes | None) -> str | None:
    """An id as it is written."""
    return None if value is None else value.hex()


class Heads:
    """The rows that name clusters: how many by size, and the largest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sizes = np.zeros(len(BINS), np.int64)
        self._rows = self._compared = self._forgotten = self._clustered = self._most_rows = 0
        self._kept: list[_Head] = []  # in order

    def add(self, kind: Kind, batch: Mapping[str, pa.Array], start: int, hidden: NDArray[np.int64]) -> None:
        """Take a batch of a shard into account; `hidden` are the shard's forgotten rows."""
        layer = layer_of_kind(kind)
        ids, size = batch["samples.id"], batch[f"{layer}.size"]
        sizes = pc.fill_null(size, 0).to_numpy(zero_copy_only=False)
        compared = sizes > 0
        self._rows += len(ids)
        self._compared += int(compared.sum())
        first, last = np.searchsorted(hidden, (start, start + len(ids)))
        self._forgotten += int(compared[hidden[first:last] - start].sum())
        (high, low), (own_high, own_low) = words_of(batch[f"{layer}.cluster"]), words_of(ids)
        heads = np.flatnonzero(compared & (high == own_high) & (low == own_low))
        self._sizes += np.bincount(np.searchsorted(BINS, sizes[heads], "right") - 1, minlength=len(BINS))
        heads = heads[sizes[heads] > 1]
        self._clustered += int(sizes[heads].sum())
        self._most_rows = max(self._most_rows, int(sizes[heads].max(initial=0)))
        texts = pc.fill_null(batch[f"{layer}.texts"], -1).to_numpy(zero_copy_only=False)
        order = np.lexsort((own_low[heads], own_high[heads], -sizes[heads], -texts[heads]))[: self._most]
        chosen = heads[order]
        names = ids.take(pa.array(chosen)).to_pylist()
        said = zip(texts[chosen].tolist(), sizes[chosen].tolist(), names, strict=True)
        self._keep((-many, -rows, name, None if many < 0 else many) for many, rows, name in said)

    def absorb(self, other: "Heads") -> None:
        """Take into account what was counted of other shards."""
        self._sizes += other._sizes
        self._rows += other._rows
        self._compared += other._compared
        self._forgotten += other._forgotten
        self._clustered += other._clustered
        self._most_rows = max(self._most_rows, other._most_rows)
        self._keep(other._kept)

    def _keep(self, fresh: Iterable[_Head]) -> None:
        self._kept = sorted([*self._kept, *fresh], key=lambda one: one[:3])[: self._most]

    @property
    def largest(self) -> list[Cluster]:
        """The largest clusters, as far as the rows that name them tell."""
        return [Cluster(name.hex(), -rows, texts) for _, rows, name, texts in self._kept]

    def overview(self, kind: Kind, largest: tuple[Cluster, ...]) -> Overview:
        """All that was counted."""
        sizes = tuple(self._sizes.tolist())
        clusters = sum(sizes[1:])
        return Overview(
            kind,
            self._rows,
            self._compared,
            self._forgotten,
            sizes,
            clusters,
            self._clustered,
            self._most_rows,
            largest,
        )


@dataclass(slots=True)
class Gathered:
    """What is known of a shown cluster so far."""

    sources: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    lowest: tuple[float, bool] | None = None  # similarity, and whether it is exact; an estimate is the lower one
    head: tuple[str, int, bytes] | None = None  # shard, row, id
    other: tuple[float, bytes, str, int] | None = None  # similarity, id, shard, row

    def absorb(self, other: "Gathered") -> None:
        """Take into account what was gathered of other shards."""
        self.sources += other.sources
        self.languages += other.languages
        self.lowest = _least(self.lowest, other.lowest)
        self.head = other.head or self.head
        self.other = _least(self.other, other.other)

    def cluster(self, head: Cluster, samples: Mapping[str, ManifestRow]) -> Cluster:
        """The cluster with what was gathered."""
        examples = []
        if self.head is not None:
            examples.append(Place(samples[self.head[0]], self.head[1], self.head[2].hex()))
        if self.other is not None:
            examples.append(Place(samples[self.other[2]], self.other[3], self.other[1].hex()))
        similarity, exact = (None, False) if self.lowest is None else self.lowest
        return Cluster(
            head.id,
            head.rows,
            head.texts,
            self.sources.total(),
            _ranked(self.sources),
            _ranked(self.languages),
            similarity,
            tuple(examples),
            exact,
        )


def _ranked(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def gather(
    found: list[Gathered],
    shard: ManifestRow,
    start: int,
    rows: NDArray[np.int64],
    of: NDArray[np.int64],
    batch: Mapping[str, pa.Array],
    layer: str,
) -> None:
    """Of each cluster in a batch: the row that names it, the lowest similarity, and the row that has it."""
    taken = pa.array(rows)
    ids = batch["samples.id"].take(taken)
    high, low = words_of(ids)
    cluster_high, cluster_low = words_of(batch[f"{layer}.cluster"].take(taken))
    heads = (high == cluster_high) & (low == cluster_low)
    for at in np.flatnonzero(heads).tolist():
        found[of[at]].head = shard.shard, start + int(rows[at]), ids[at].as_py()
    known = batch[f"{layer}.similarity"].take(taken)
    similarity = pc.fill_null(known, 2.0).to_numpy(zero_copy_only=False)  # above all: groups of equals have none
    by = batch[f"{layer}.by"].take(taken)
    exact = pc.is_in(by, value_set=pa.array(EXACT, by.type)).to_numpy(zero_copy_only=False)
    for number, at in _first_of_each(of, similarity, exact):
        if known[at].is_valid:
            found[number].lowest = _least(found[number].lowest, (float(similarity[at]), bool(exact[at])))
    others = np.flatnonzero(~heads)
    for number, place in _first_of_each(of[others], similarity[others], high[others], low[others]):
        at = int(others[place])
        other = float(similarity[at]), ids[at].as_py(), shard.shard, start + int(rows[at])
        found[number].other = _least(found[number].other, other)


def _least(one: _Facts | None, other: _Facts | None) -> _Facts | None:
    return min((facts for facts in (one, other) if facts is not None), default=None)


def _first_of_each(
    of: NDArray[np.int64], similarity: NDArray[np.float64], *then: Words | NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Each cluster with the place of its least similar row; of several, the first by what else is given."""
    order = np.lexsort((*reversed(then), similarity, of))
    numbers, firsts = np.unique(of[order], return_index=True)
    yield from zip(numbers.tolist(), order[firsts].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a cluster, and what its layer says of it."""

    rank: int
    id: bytes
    shard: str
    row: int
    source: str
    similarity: float | None
    matched: bytes | None
    by: str | None

    @property
    def order(self) -> tuple[int, float, bytes]:
        """By what rows are put in order."""
        return self.rank, 2.0 if self.similarity is None else self.similarity, self.id


class Picked:
    """The first rows of one cluster: the one that was asked for, its match, the one that names it, then the others."""

    def __init__(self, own: bytes, said: Membership, most: int) -> None:
        assert said.cluster is not None
        self._most = most
        self._cluster = pa.scalar(bytes.fromhex(said.cluster), pa.binary(ID_BYTES))
        ranked = [own, *([] if said.matched is None else [bytes.fromhex(said.matched)]), bytes.fromhex(said.cluster)]
        self._first = pa.array(list(dict.fromkeys(ranked)), pa.binary(ID_BYTES))
        self._match = None if said.matched is None else pa.scalar(ranked[1], pa.binary(ID_BYTES))
        self.found = 0
        self.matched: tuple[str, int, bytes] | None = None  # shard, row, id
        self.rows: list[Row] = []

    def add(self, kind: Kind, shard: ManifestRow, start: int, batch: Mapping[str, pa.Array]) -> None:
        """Take the cluster's rows in a batch into account."""
        layer = layer_of_kind(kind)
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
            self.matched = shard.shard, start + int(rows[at]), self._match.as_py()
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
                    start + row,
                    shard.source,
                    similarity[at].as_py(),
                    batch[f"{layer}.matched"][row].as_py(),
                    batch[f"{layer}.by"][row].as_py(),
                )
            )
        self._keep(fresh)

    def absorb(self, other: "Picked") -> None:
        """Take the cluster's rows in other shards into account."""
        self.found += other.found
        self.matched = other.matched or self.matched
        self._keep(other.rows)

    def _keep(self, fresh: list[Row]) -> None:
        self.rows = sorted([*self.rows, *fresh], key=lambda one: one.order)[: self._most]
