"""Chooses the representative of each cluster of duplicates: the best eligible row, by the recipe's preferences.

Clusters of equal addresses come first, then those of equal texts among the rows that are left, then near duplicates
among the rows that are left of those, then pictures. A row is dropped by the first kind with a better row. Only rows
with duplicates are held, beyond a bound on disk.

Where items are compared, a row is dropped if each of its items is in a cluster with an item of a better row, so that no
picture is lost. The best row of a cluster is never dropped by the same kind: it has an item that no better row has.
Items that rules of `items` drop before duplicates are known neither count nor represent others.

For rules of `items`, an item is represented if its cluster has an item of a better row, or an earlier one of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.preferences import BoundPreference, Keys, source_keys
from winnow.pipelines.query.columns import Column
from winnow.pipelines.query.items import ItemLines, item_lines
from winnow.pipelines.running.run_folder import temporary_folder
from winnow.pipelines.store import layout
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import DedupeConfig
from winnow.schemas.rows.duplicates import DISTINCT, ID_BYTES, OF_ITEMS, OF_MEDIA, VIRTUAL, Kind, layer_of_kind
from winnow.schemas.rules.conditions import CLOSED
from winnow.schemas.uint128 import Words, values_of, words_of

MAX_NAMED = 100  # the most clusters above the cap that alarms name
_MAX_HELD = 10_000  # the most such clusters in memory, before accepted ones are removed

_MEMORY = "1GiB"  # for sorting; the rest spills to a temporary folder
_TEXT = "text"  # the columns of texts' digests
ROW_BITS = 32  # of a place: the number of a shard, then that of a row in it

ITEMS = pa.schema([pa.field(name, pa.uint64()) for name in ("place", "item", "high", "low", "all_items")])
"""Items with duplicates: the row's place, the item's number, its cluster, and whether all the row's items have some."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """How representatives are chosen. Picklable."""

    kinds: tuple[Kind, ...]
    preferences: tuple[BoundPreference, ...]
    sources: tuple[str, ...]  # in the recipe's order
    config: DedupeConfig
    digest: Column | None = None  # of the text, where no kind compares the texts of equal addresses
    by_item: tuple[Kind, ...] = ()  # the kinds of which rules of `items` read which media are represented by others

    @property
    def max_cluster(self) -> Mapping[Kind, int]:
        """The number of different texts or hashes above which a near cluster of each kind raises an alarm."""
        return self.config.max_clusters

    @property
    def of_rows(self) -> tuple[Kind, ...]:
        """The kinds that compare rows."""
        return tuple(kind for kind in self.kinds if kind not in OF_ITEMS)

    @property
    def of_items(self) -> tuple[Kind, ...]:
        """The kinds that compare items."""
        return tuple(kind for kind in self.kinds if kind in OF_ITEMS)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the choice that rules may read."""
        return tuple(f"{VIRTUAL}.{kind}" for kind in self.kinds)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the choice reads."""
        found = [Column(layout.SAMPLES, "id")]
        for kind in self.kinds:
            found += [Column(layer_of_kind(kind), leaf) for leaf in _leaves(kind)]
        found += [one.column for one in self.preferences if one.column is not None]
        found += [] if self.digest is None else [self.digest]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, order=True)
class LargeCluster:
    """A near cluster with more different texts or hashes than the cap."""

    texts: int
    rows: int
    id: str
    of: str = "texts"


@dataclass(frozen=True, slots=True)
class UnequalTexts:
    """How many of the rows that are replaced by one of the same address hold another text than that one.

    Texts are another if they are neither equal nor near duplicates, by the kinds that the recipe searches for; if it
    searches for no kind of text, their digests differ. Rows without a text are not compared.
    """

    compared: int = 0
    unequal: int = 0

    @property
    def share(self) -> float:
        """The share of compared rows."""
        return self.unequal / self.compared if self.compared else 0.0


NONE_COMPARED = UnequalTexts()


@dataclass(frozen=True)
class Duplicates:
    """The rows that representatives replace: 24 bytes per row."""

    lost: Mapping[Kind, NDArray[np.uint64]] = field(default_factory=dict)  # sorted
    replacements: Mapping[Kind, tuple[Words, Words]] = field(default_factory=dict)  # ids of the representatives
    large: tuple[LargeCluster, ...] = ()  # not accepted; the largest first
    large_count: int = 0  # how many there are in all
    addresses: UnequalTexts = NONE_COMPARED
    numbers: Mapping[str, int] = field(default_factory=dict)  # the numbers of shards
    lost_items: Mapping[Kind, tuple[Words, Words]] = field(default_factory=dict)  # places and items, sorted

    def items_of(self, shard: str) -> dict[str, tuple[Rows, Rows]]:
        """Return which items of a shard are represented by others: rows and numbers in them, by the rules' column."""
        found = {}
        for kind, (places, items) in self.lost_items.items():
            within = within_shards(places, self.numbers[shard], self.numbers[shard] + 1)
            found[f"{VIRTUAL}.{kind}"] = (_rows_of(places[within]), items[within].astype(np.int64))
        return found

    def of(self, shard: str, rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return which of a shard's rows are replaced, by the name of the column that rules read."""
        found = {}
        for kind, lost in self.lost.items():
            marks = np.zeros(rows, np.bool_)
            marks[_rows_of(lost[self._within(kind, shard)])] = True
            found[f"{VIRTUAL}.{kind}"] = marks
        return found

    def replacement_ids(self, shard: str, rows: int) -> pa.FixedSizeBinaryArray:
        """Return the ids of the representatives that replace a shard's rows; null for rows that are not replaced."""
        high, low, replaced = np.zeros(rows, np.uint64), np.zeros(rows, np.uint64), np.zeros(rows, np.bool_)
        for kind, lost in self.lost.items():
            part = self._within(kind, shard)
            at = _rows_of(lost[part])
            high[at], low[at], replaced[at] = self.replacements[kind][0][part], self.replacements[kind][1][part], True
        return pc.if_else(pa.array(replaced), values_of(high, low), pa.scalar(None, pa.binary(ID_BYTES)))

    def _within(self, kind: Kind, shard: str) -> slice:
        return within_shards(self.lost[kind], self.numbers[shard], self.numbers[shard] + 1)


def within_shards(places: Words, first: int, end: int) -> slice:
    """Return where the places in a range of shards are among sorted ones."""
    bounds = np.array([first, end], np.uint64) << np.uint64(ROW_BITS)
    return slice(*np.searchsorted(places, bounds).tolist())


NO_DUPLICATES = Duplicates()


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
        large = tuple(sorted((one for part in parts for one in part.large), reverse=True)[:_MAX_HELD])
        accepted = {name: most for part in parts for name, most in part.accepted.items()}
        items = {kind: _joined([one.items[kind] for one in parts]) for kind in parts[0].items}
        return cls(_joined([one.table for one in parts]), items, large, sum(one.large_count for one in parts), accepted)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables one after another, in single chunks."""
    table = pa.concat_tables(tables)
    columns = [pa.concat_arrays([pa.array([], one.type), *one.chunks]) for one in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def find_candidates(
    choice: Choice,
    number: int,
    source: str,
    blocks: Iterator[Mapping[str, pa.Array]],
    eligible: NDArray[np.bool_],
    left: ItemMarks | None = None,
) -> Candidates:
    """Return the candidates of a shard.

    Args:
        choice: How representatives are chosen.
        number: The shard's number.
        source: The shard's source.
        blocks: The choice's columns for all rows of the shard.
        eligible: Which rows are eligible.
        left: Which of their media rules leave; None for all.
    """
    parts, large = [], list[LargeCluster]()
    items: dict[Kind, list[pa.RecordBatch]] = {kind: [] for kind in choice.of_items}
    accepted: dict[str, int] = {}
    at = 0
    for block in blocks:
        rows = len(block["samples.id"])
        every = {kind: _item_lines(block, kind) for kind in choice.of_items}
        lines = {kind: one if left is None or kind not in OF_MEDIA else left.of(one, at) for kind, one in every.items()}
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
    largest = tuple(sorted(large, reverse=True)[:_MAX_HELD])
    return Candidates(
        pa.Table.from_batches(parts, schema=_schema(choice)),
        {kind: pa.Table.from_batches(found, schema=ITEMS) for kind, found in items.items()},
        largest,
        len(large),
        accepted,
    )


class RepresentativeChooser:
    """Collects candidates, then chooses representatives.

    A context manager: data that does not fit in memory is in a temporary folder, which it deletes at the end.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._folder = temporary_folder("representatives")
        self._engine = duckdb.connect(
            f"{self._folder.name}/candidates.duckdb",
            config=CLOSED | {"memory_limit": _MEMORY, "temp_directory": f"{self._folder.name}/spilled"},
        )
        self._large: list[LargeCluster] = []
        self._large_count = 0
        self._accepted: dict[str, int] = {}
        self._addresses = NONE_COMPARED
        self._execute(f"CREATE TABLE candidate ({_integers(_schema(choice))})")
        for kind in choice.of_items:
            self._execute(f"CREATE TABLE item_{kind} ({_integers(ITEMS)})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._folder.cleanup()

    def add(self, found: Candidates) -> None:
        """Add the candidates of a shard."""
        self._large = sorted([*self._large, *found.large], reverse=True)[:_MAX_HELD]
        self._large_count += found.large_count
        self._accepted |= found.accepted
        tables = {"candidate": found.table, **{f"item_{kind}": table for kind, table in found.items.items()}}
        for name, table in tables.items():
            if table.num_rows:
                self._engine.register("found", table)
                self._execute(f"INSERT INTO {name} SELECT * FROM found")
                self._engine.unregister("found")

    def chosen(self, shards: Sequence[str]) -> Duplicates:
        """Choose among all candidates."""
        preferred = ", ".join(_preference_names(self._choice))
        self._execute(
            "CREATE TABLE ranked AS SELECT *, row_number() OVER "
            f"(ORDER BY {preferred}{', ' if preferred else ''}id_high, id_low, place) AS rank FROM candidate"
        )
        self._execute("DROP TABLE candidate")
        lost: dict[Kind, NDArray[np.uint64]] = {}
        lost_items: dict[Kind, tuple[Words, Words]] = {}
        self._execute("CREATE TABLE represented (place UBIGINT, item UBIGINT)")
        replacements: dict[Kind, tuple[Words, Words]] = {}
        for kind in self._choice.kinds:
            if kind in self._choice.by_item:
                lost_items[kind] = self._represented_items(kind)
            lost[kind], *ids = self._replaced_rows(kind)
            replacements[kind] = (ids[0], ids[1])
        large = [one for one in self._large if one.texts > self._accepted.get(one.id, 0)]
        large_count = self._large_count - (len(self._large) - len(large))
        numbers = {name: number for number, name in enumerate(shards)}
        named = tuple(large[:MAX_NAMED])
        return Duplicates(lost, replacements, named, large_count, self._addresses, numbers, lost_items)

    def _represented_items(self, kind: Kind) -> tuple[Words, Words]:
        """Return the items with a better item in their cluster, sorted.

        One that is represented by an item of an earlier kind represents none, so that of each cluster one stays.
        """
        order = f"rank::UBIGINT * {1 << ROW_BITS} + item"
        self._execute(
            f"CREATE TABLE found AS SELECT place, item FROM item_{kind} JOIN ranked USING (place) JOIN "
            f"(SELECT high, low, min({order}) AS best FROM item_{kind} JOIN ranked USING (place) "
            f"ANTI JOIN represented USING (place, item) GROUP BY ALL) USING (high, low) WHERE {order} > best"
        )
        self._execute("INSERT INTO represented SELECT * FROM found")
        with self._one_line_errors():
            table = self._engine.sql("SELECT place, item FROM found ORDER BY ALL").to_arrow_table()
        self._execute("DROP TABLE found")
        places, items = (column.to_numpy().astype(np.uint64) for column in table.columns)
        return places, items

    def _replaced_rows(self, kind: Kind) -> tuple[Words, Words, Words]:
        """Return the rows with a better row in their cluster, and the ids of those; remove them from the candidates."""
        if kind in OF_ITEMS:
            self._execute(
                f"CREATE TABLE replaced AS SELECT place, arg_min(best, item) AS best FROM item_{kind} "
                "JOIN ranked USING (place) JOIN (SELECT high, low, min(rank) AS best "
                f"FROM item_{kind} JOIN ranked USING (place) GROUP BY ALL) USING (high, low) "
                "WHERE all_items = 1 GROUP BY place, rank HAVING max(best) < rank"
            )
        else:
            self._execute(
                f"CREATE TABLE replaced AS SELECT place, best FROM ranked JOIN (SELECT {kind}_high, {kind}_low, "
                f"min(rank) AS best FROM ranked WHERE {kind}_high IS NOT NULL GROUP BY ALL) "
                f"USING ({kind}_high, {kind}_low) WHERE rank > best"
            )
        if kind == "url":
            self._addresses = self._compared_texts()
        self._execute("DELETE FROM ranked WHERE place IN (SELECT place FROM replaced)")
        with self._one_line_errors():
            found = self._engine.sql(
                "SELECT replaced.place, id_high, id_low "
                "FROM replaced JOIN ranked ON rank = best ORDER BY replaced.place"
            ).to_arrow_table()
        self._execute("DROP TABLE replaced")
        places, high, low = (column.to_numpy().astype(np.uint64) for column in found.columns)
        return places, high, low

    def _compared_texts(self) -> UnequalTexts:
        """Compare the texts of replaced rows with those of the rows that stay, by their other clusters or digests."""
        others: list[str] = [kind for kind in self._choice.of_rows if kind != "url"]
        others += [] if self._choice.digest is None else [_TEXT]
        if not others:
            return NONE_COMPARED
        known = " OR ".join(f"(gone.{kind}_high IS NOT NULL AND stays.{kind}_high IS NOT NULL)" for kind in others)
        equal = " OR ".join(
            f"coalesce(gone.{kind}_high = stays.{kind}_high AND gone.{kind}_low = stays.{kind}_low, false)"
            for kind in others
        )
        with self._one_line_errors():
            found = self._engine.sql(
                f"SELECT count(*) FILTER ({known}), count(*) FILTER (({known}) AND NOT ({equal})) FROM replaced "
                "JOIN ranked AS gone USING (place) JOIN ranked AS stays ON stays.rank = replaced.best"
            ).to_arrow_table()
        compared, unequal = (int(column[0].as_py()) for column in found.columns)
        return UnequalTexts(compared, unequal)

    def _execute(self, statement: str) -> None:
        with self._one_line_errors():
            self._engine.execute(statement)

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            message = str(error).splitlines()[0][:200]
            where = Path(self._folder.name).parent
            raise StageError(
                f"choosing representatives of duplicates: {message}; temporary files are in {where}; free some space "
                "there, or set TMPDIR to another folder"
            ) from None


def _leaves(kind: Kind) -> tuple[str, ...]:
    return ("cluster", "size", DISTINCT[kind]) if kind in DISTINCT else ("cluster", "size")


def _preference_names(choice: Choice) -> list[str]:
    return [f"preference{number}" for number in range(len(choice.preferences))]


def _schema(choice: Choice) -> pa.Schema:
    names = ["place", *_preference_names(choice), "id_high", "id_low"]
    compared = (*choice.of_rows, *(() if choice.digest is None else (_TEXT,)))
    names += [f"{kind}_{word}" for kind in compared for word in ("high", "low")]
    return pa.schema([pa.field(name, pa.uint64()) for name in names])


def _integers(schema: pa.Schema) -> str:
    """Return the columns of a table, as SQL."""
    return ", ".join(f"{name} UBIGINT" for name in schema.names)


def _clustered(sizes: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.fill_null(pc.greater(sizes, 1), False).to_numpy(zero_copy_only=False)
    return found


def _item_lines(block: Mapping[str, pa.Array], kind: Kind) -> ItemLines:
    layer = layer_of_kind(kind)
    return item_lines(block, [f"{layer}.{leaf}" for leaf in _leaves(kind)], "samples.id")


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
    return pa.RecordBatch.from_arrays([pa.array(one.astype(np.uint64)) for one in columns], schema=ITEMS)


def _candidate_batch(
    choice: Choice,
    block: Mapping[str, pa.Array],
    chosen: Rows,
    first: np.uint64,
    source: str,
) -> pa.RecordBatch:
    taken = pa.array(chosen)
    columns: list[pa.Array] = [pa.array(first + chosen.astype(np.uint64))]
    for one in choice.preferences:
        keys = _keys(one, choice, block, taken, source)
        columns.append(pa.array(keys))
    columns += [pa.array(words) for words in words_of(block["samples.id"].take(taken))]
    names = [f"{layer_of_kind(kind)}.cluster" for kind in choice.of_rows]  # a row's own id if it is alone
    for name in (*names, *(() if choice.digest is None else (choice.digest.name,))):
        values = block[name].take(taken)
        missing = values.is_null().to_numpy(zero_copy_only=False)
        columns += [pa.array(words, mask=missing) for words in words_of(values)]
    return pa.RecordBatch.from_arrays(columns, schema=_schema(choice))


def _keys(one: BoundPreference, choice: Choice, block: Mapping[str, pa.Array], taken: pa.Array, source: str) -> Keys:
    if one.column is None:
        return source_keys(choice.sources, source, len(taken))
    return one.keys(block[one.column.name].take(taken))


def _rows_of(places: Words) -> Rows:
    """Return the rows' positions in their shard."""
    return (places & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)


def _large(block: Mapping[str, pa.Array], kind: Kind, most: int) -> list[LargeCluster]:
    """Return the clusters with too many texts or hashes; each is found once, by the row or item that names it."""
    layer, of = layer_of_kind(kind), DISTINCT[kind]
    over = pc.and_(
        pc.greater(block[f"{layer}.{of}"], most),
        pc.equal(block["samples.id"], block[f"{layer}.cluster"]),
    )
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
