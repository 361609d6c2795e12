"""The eligible rows of a shard that have duplicates, among which representatives are chosen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.preferences import BoundPreference, Choice, Keys, leaves_of, source_keys
from winnow.pipelines.reading.items import ItemLines, item_lines
from winnow.schemas.recipe import DedupeConfig
from winnow.schemas.rows.duplicates import ID_BYTES, Kind, layer_of_kind
from winnow.schemas.uint128 import Words, words_of

WORD_BYTES = 8  # of each column of candidates
ROW_BITS = 32  # of a place: the number of a shard, then that of a row in it
TEXT = "text"  # the columns of texts' digests

ITEMS = pa.schema([pa.field(name, pa.uint64()) for name in ("place", "item", "high", "low", "all_items")])
"""Items with duplicates: the row's place, the item's number, its cluster, and whether all the row's items have some."""

Rows = NDArray[np.int64]

MAX_NAMED = 100  # the most clusters above the cap that alarms name
MAX_HELD = 10_000  # the most clusters above the cap in memory, before accepted ones are removed


@dataclass(frozen=True, slots=True, order=True)
class LargeCluster:
    """A near cluster with more different members than the cap."""

    texts: int
    rows: int
    id: str
    of: str = "texts"  # the column that counts them


@dataclass(frozen=True)
class ItemMarks:
    """A mark for each medium of the rows of a shard."""

    numbers: Rows  # of media of each row
    marks: NDArray[np.bool_]

    def of(self, lines: ItemLines, at: int) -> ItemLines:
        """Return the marked ones of the items of a block, which begins at this row of the shard."""
        first = np.cumsum(self.numbers) - self.numbers
        some = np.flatnonzero(self.marks[first[lines.rows + at] + lines.items])
        columns = {name: values.take(pa.array(some)) for name, values in lines.columns.items()}
        return ItemLines(lines.rows[some], lines.items[some], columns)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The eligible rows of a shard that have duplicates."""

    table: pa.Table
    items: Mapping[Kind, pa.Table] = field(default_factory=dict)  # their items that have duplicates (`ITEMS`)
    large: tuple[LargeCluster, ...] = ()  # the largest first
    large_count: int = 0  # how many there are in all
    accepted: Mapping[str, int] = field(default_factory=dict)  # the accepted number of texts, by cluster id

    @classmethod
    def merged(cls, parts: Sequence["Candidates"]) -> Self:
        """Return those of several shards together."""
        items = {kind: _joined([one.items[kind] for one in parts]) for kind in parts[0].items}
        return cls(_joined([one.table for one in parts]), items, *merged_large(parts))


class CountedLarge(Protocol):
    """Clusters above the cap, of some shards."""

    @property
    def large(self) -> tuple[LargeCluster, ...]:
        """The largest first."""
        ...

    @property
    def large_count(self) -> int:
        """How many there are in all."""
        ...

    @property
    def accepted(self) -> Mapping[str, int]:
        """The accepted number of texts, by cluster id."""
        ...


def merged_large(parts: Iterable[CountedLarge]) -> tuple[tuple[LargeCluster, ...], int, Mapping[str, int]]:
    """Return the clusters above the cap of several shards together."""
    held = list(parts)
    large = tuple(sorted((one for part in held for one in part.large), reverse=True)[:MAX_HELD])
    accepted = {name: most for part in held for name, most in part.accepted.items()}
    return large, sum(part.large_count for part in held), accepted


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables one after another, in single chunks."""
    table = pa.concat_tables(tables)
    columns = [pa.concat_arrays([pa.array([], column.type), *column.chunks]) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def part_of_items(part: str, kind: Kind) -> str:
    """Return the name of the part with the items of a kind, beside that of rows."""
    return f"{part}-{kind}"


def find_candidates(
    choice: Choice,
    number: int,
    source: str,
    blocks: Iterator[Mapping[str, pa.Array]],
    eligible: NDArray[np.bool_],
    left: ItemMarks | None = None,
) -> Candidates:
    """Return the candidates of a shard.

    `blocks`: the choice's columns for all rows; `eligible`: which rows are; `left`: which of their media rules leave
    (None: all).
    """
    parts, large = [], list[LargeCluster]()
    items: dict[Kind, list[pa.RecordBatch]] = {kind: [] for kind in choice.of_items}
    accepted: dict[str, int] = {}
    at = 0
    for block in blocks:
        rows = len(block["samples.id"])
        every = {kind: _item_lines(block, kind) for kind in choice.of_items}
        lines = {
            kind: one if left is None or not find_kind(kind).unit.of_media else left.of(one, at)
            for kind, one in every.items()
        }
        there = [_clustered(block[f"{layer_of_kind(kind)}.size"]) for kind in choice.of_rows]
        for kind, one in lines.items():
            found = np.zeros(rows, np.bool_)
            found[one.rows[_clustered(one.columns[f"{layer_of_kind(kind)}.size"])]] = True
            there.append(found)
        for kind, most in choice.max_cluster.items():
            if kind in choice.kinds:
                facts = every[kind].columns if kind in every else block
                large += _large(facts, kind, most)
                accepted |= _accepted(facts, kind, choice.config)
        allowed = eligible[at : at + rows]
        chosen = np.flatnonzero(np.logical_or.reduce(there) & allowed)
        first = np.uint64(number << ROW_BITS | at)
        if len(chosen):
            parts.append(_candidate_batch(choice, block, chosen, first, source))
            for kind, one in lines.items():
                items[kind].append(_clustered_items(one, kind, allowed, first))
        at += rows
    largest = tuple(sorted(large, reverse=True)[:MAX_HELD])
    return Candidates(
        pa.Table.from_batches(parts, schema=candidate_columns(choice)),
        {kind: pa.Table.from_batches(found, schema=ITEMS) for kind, found in items.items()},
        largest,
        len(large),
        accepted,
    )


def _clustered(sizes: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.fill_null(pc.greater(sizes, 1), False).to_numpy(zero_copy_only=False)
    return found


def _item_lines(block: Mapping[str, pa.Array], kind: Kind) -> ItemLines:
    layer = layer_of_kind(kind)
    return item_lines(block, [f"{layer}.{leaf}" for leaf in leaves_of(kind)], "samples.id")


def _clustered_items(lines: ItemLines, kind: Kind, eligible: NDArray[np.bool_], first: np.uint64) -> pa.RecordBatch:
    """Return the items of eligible rows that have duplicates."""
    layer = layer_of_kind(kind)
    clustered = _clustered(lines.columns[f"{layer}.size"])
    every = np.bincount(lines.rows, minlength=len(eligible)) == np.bincount(
        lines.rows[clustered], minlength=len(eligible)
    )
    chosen = np.flatnonzero(clustered & eligible[lines.rows])
    rows = lines.rows[chosen]
    clusters = words_of(lines.columns[f"{layer}.cluster"].take(pa.array(chosen)))
    columns = [first + rows.astype(np.uint64), lines.items[chosen], *clusters, every[rows]]
    return pa.RecordBatch.from_arrays([pa.array(column.astype(np.uint64)) for column in columns], schema=ITEMS)


def _candidate_batch(
    choice: Choice, block: Mapping[str, pa.Array], chosen: Rows, first: np.uint64, source: str
) -> pa.RecordBatch:
    taken = pa.array(chosen)
    columns: list[pa.Array] = [pa.array(first + chosen.astype(np.uint64))]
    for preference in choice.preferences:
        keys = _keys(preference, choice, block, taken, source)
        columns.append(pa.array(keys))
    columns += [pa.array(words) for words in words_of(block["samples.id"].take(taken))]
    names = [f"{layer_of_kind(kind)}.cluster" for kind in choice.of_rows]  # a row's own id if it is alone
    for name in (*names, *(() if choice.digest is None else (choice.digest.name,))):
        values = block[name].take(taken)
        missing = values.is_null().to_numpy(zero_copy_only=False)
        columns += [pa.array(words, mask=missing) for words in words_of(values)]
    return pa.RecordBatch.from_arrays(columns, schema=candidate_columns(choice))


def _keys(
    preference: BoundPreference, choice: Choice, block: Mapping[str, pa.Array], taken: pa.Array, source: str
) -> Keys:
    if preference.column is None:
        return source_keys(choice.sources, source, len(taken))
    return preference.keys(block[preference.column.name].take(taken))


def _large(block: Mapping[str, pa.Array], kind: Kind, most: int) -> list[LargeCluster]:
    """Return the clusters with too many texts or hashes; each is found once, by the row or item that names it."""
    layer, of = layer_of_kind(kind), find_kind(kind).counted
    over = pc.and_(pc.greater(block[f"{layer}.{of}"], most), pc.equal(block["samples.id"], block[f"{layer}.cluster"]))
    named = pa.table({name: block[f"{layer}.{name}"] for name in (of, "size", "cluster")}).filter(over)
    return [LargeCluster(row[of], row["size"], row["cluster"].hex(), of) for row in named.to_pylist()]


def _accepted(block: Mapping[str, pa.Array], kind: Kind, config: DedupeConfig) -> dict[str, int]:
    """Return the accepted sizes of clusters; the recipe may name any row of a cluster, as its id may change."""
    most = {bytes.fromhex(one.name): one.max_cluster for one in config.guard.clusters}
    if not most:
        return {}
    named = pc.is_in(block["samples.id"], pa.array(list(most), pa.binary(ID_BYTES)))
    names = ("samples.id", f"{layer_of_kind(kind)}.cluster")
    pairs = zip(*(block[name].filter(named).to_pylist() for name in names), strict=True)
    return {cluster.hex(): most[identity] for identity, cluster in pairs if cluster is not None}


def unaccepted(
    large: Sequence[LargeCluster], count: int, accepted: Mapping[str, int]
) -> tuple[tuple[LargeCluster, ...], int]:
    """Return the largest of `count` clusters above the cap that the recipe does not accept, and how many there are."""
    left = [one for one in large if one.texts > accepted.get(one.id, 0)]
    return tuple(left[:MAX_NAMED]), count - (len(large) - len(left))


def preference_names(choice: Choice) -> list[str]:
    """Return the columns of the recipe's preferences, the most important first."""
    return [f"preference{number}" for number in range(len(choice.preferences))]


def candidate_columns(choice: Choice) -> pa.Schema:
    """Return the columns of candidates: place, preferences, id, and clusters."""
    names = ["place", *preference_names(choice), "id_high", "id_low"]
    compared = (*choice.of_rows, *(() if choice.digest is None else (TEXT,)))
    names += [f"{kind}_{word}" for kind in compared for word in ("high", "low")]
    return pa.schema([pa.field(name, pa.uint64()) for name in names])


def rows_of(places: Words) -> Rows:
    """Return the rows' positions in their shard."""
    return (places & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)
