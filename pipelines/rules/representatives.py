"""Which row of each cluster of duplicates stays: the best of those that are eligible, by the recipe's preferences.

Of equal addresses first, then of equal texts among what is left, then of near duplicates among what is left of that: a
row goes for the first of them in which a better one stays. Only rows that have a duplicate are held, and beyond a bound
on disk.
"""

import tempfile
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
from winnow.pipelines.store import layout
from winnow.schemas.conditions import CLOSED
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import DedupeConfig
from winnow.schemas.rows.duplicates import ID_BYTES, VIRTUAL, Kind, layer_of_kind
from winnow.schemas.uint128 import Words, values_of, words_of

LARGEST = 100  # clusters above the cap that are named
_HELD = 10_000  # of them, before those that are accepted are taken out

_MEMORY = "1GiB"  # what is sorted in memory; the rest of it lies in a temporary folder
_ROW_BITS = 32

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """By what it is chosen who stays. Picklable."""

    kinds: tuple[Kind, ...]
    preferences: tuple[BoundPreference, ...]
    sources: tuple[str, ...]  # in the order of the recipe
    config: DedupeConfig

    @property
    def max_cluster(self) -> int | None:
        """The different texts of a near cluster beyond which it is told of."""
        return None if self.config.near is None else self.config.near.max_cluster

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that rules may read of it."""
        return tuple(f"{VIRTUAL}.{kind}" for kind in self.kinds)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of layers that it reads."""
        found = [Column(layout.SAMPLES, "id")]
        for kind in self.kinds:
            found += [Column(layer_of_kind(kind), leaf) for leaf in _leaves(kind)]
        found += [one.column for one in self.preferences if one.column is not None]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, order=True)
class LargeCluster:
    """A near cluster above the cap."""

    texts: int
    rows: int
    id: str


@dataclass(frozen=True)
class Duplicates:
    """The rows in whose place others stay: 24 bytes a row."""

    lost: Mapping[Kind, NDArray[np.uint64]] = field(default_factory=dict)  # sorted
    instead: Mapping[Kind, tuple[Words, Words]] = field(default_factory=dict)  # the ids of the rows that they go for
    large: tuple[LargeCluster, ...] = ()  # that are not accepted, the largest first
    larger: int = 0  # how many there are in all
    numbers: Mapping[str, int] = field(default_factory=dict)  # of shards

    def of(self, shard: str, rows: int) -> dict[str, NDArray[np.bool_]]:
        """Which of a shard's rows they are, by the name of the column that says so."""
        found = {}
        for kind, lost in self.lost.items():
            marks = np.zeros(rows, np.bool_)
            marks[_rows_of(lost[self._within(kind, shard)])] = True
            found[f"{VIRTUAL}.{kind}"] = marks
        return found

    def gone_for(self, shard: str, rows: int) -> pa.FixedSizeBinaryArray:
        """The ids of the rows that a shard's rows go for; null for those that do not go."""
        high, low, gone = np.zeros(rows, np.uint64), np.zeros(rows, np.uint64), np.zeros(rows, np.bool_)
        for kind, lost in self.lost.items():
            part = self._within(kind, shard)
            at = _rows_of(lost[part])
            high[at], low[at], gone[at] = self.instead[kind][0][part], self.instead[kind][1][part], True
        return pc.if_else(pa.array(gone), values_of(high, low), pa.scalar(None, pa.binary(ID_BYTES)))

    def _within(self, kind: Kind, shard: str) -> slice:
        number = self.numbers[shard]
        bounds = np.array([number, number + 1], np.uint64) << np.uint64(_ROW_BITS)
        return slice(*np.searchsorted(self.lost[kind], bounds).tolist())


NO_DUPLICATES = Duplicates()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows of a shard that have duplicates, and may stay."""

    table: pa.Table
    large: tuple[LargeCluster, ...] = ()  # the largest first
    larger: int = 0  # how many there are in all
    accepted: Mapping[str, int] = field(default_factory=dict)  # the texts that clusters may have, by their ids


def candidates(
    choice: Choice,
    number: int,
    source: str,
    blocks: Iterator[Mapping[str, pa.Array]],
    eligible: NDArray[np.bool_],
) -> Candidates:
    """What a shard brings to the choice.

    Args:
        choice: By what is chosen.
        number: The shard's.
        source: The shard's.
        blocks: The choice's columns of all of its rows.
        eligible: Which of its rows may stay.
    """
    parts, large = [], list[LargeCluster]()
    accepted: dict[str, int] = {}
    at = 0
    for block in blocks:
        rows = len(block["samples.id"])
        there = {kind: _clustered(block, kind) for kind in choice.kinds}
        if choice.max_cluster is not None and "near" in there:
            large += _large(block, choice.max_cluster)
            accepted |= _accepted(block, choice.config)
        chosen = np.flatnonzero(np.logical_or.reduce(list(there.values())) & eligible[at : at + rows])
        if len(chosen):
            parts.append(_candidates(choice, block, chosen, there, np.uint64(number << _ROW_BITS | at), source))
        at += rows
    schema = _schema(choice)
    largest = tuple(sorted(large, reverse=True)[:_HELD])
    return Candidates(pa.Table.from_batches(parts, schema=schema), largest, len(large), accepted)


class Chooser:
    """Collects candidates, then chooses.

    A context manager: what does not fit into memory lies in a folder that goes with it.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._folder = tempfile.TemporaryDirectory(prefix="winnow-")
        self._engine = duckdb.connect(
            f"{self._folder.name}/candidates.duckdb",
            config=CLOSED | {"memory_limit": _MEMORY, "temp_directory": f"{self._folder.name}/spilled"},
        )
        self._large: list[LargeCluster] = []
        self._larger = 0
        self._accepted: dict[str, int] = {}
        self._do(f"CREATE TABLE candidate ({', '.join(f'{name} UBIGINT' for name in _schema(choice).names)})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._folder.cleanup()

    def add(self, found: Candidates) -> None:
        """Take in what a shard brings."""
        self._large = sorted([*self._large, *found.large], reverse=True)[:_HELD]
        self._larger += found.larger
        self._accepted |= found.accepted
        if found.table.num_rows:
            self._engine.register("brought", found.table)
            self._do("INSERT INTO candidate SELECT * FROM brought")
            self._engine.unregister("brought")

    def chosen(self, shards: Sequence[str]) -> Duplicates:
        """Choose among all that were taken in."""
        preferred = ", ".join(_preference_names(self._choice))
        self._do(
            "CREATE TABLE standing AS SELECT *, row_number() OVER "
            f"(ORDER BY {preferred}{', ' if preferred else ''}id_high, id_low, place) AS rank FROM candidate"
        )
        self._do("DROP TABLE candidate")
        lost: dict[Kind, NDArray[np.uint64]] = {}
        instead: dict[Kind, tuple[Words, Words]] = {}
        for kind in self._choice.kinds:
            lost[kind], *ids = self._losers(kind)
            instead[kind] = (ids[0], ids[1])
        large = [one for one in self._large if one.texts > self._accepted.get(one.id, 0)]
        larger = self._larger - (len(self._large) - len(large))
        numbers = {name: number for number, name in enumerate(shards)}
        return Duplicates(lost, instead, tuple(large[:LARGEST]), larger, numbers)

    def _losers(self, kind: Kind) -> tuple[Words, Words, Words]:
        """The rows of which a better one of the same cluster stands, and the ids of those; they stand no longer."""
        self._do(
            f"CREATE TABLE lost AS SELECT place, best FROM standing JOIN (SELECT {kind}_high, {kind}_low, "
            f"min(rank) AS best FROM standing WHERE {kind}_high IS NOT NULL GROUP BY ALL) "
            f"USING ({kind}_high, {kind}_low) WHERE rank > best"
        )
        self._do("DELETE FROM standing WHERE place IN (SELECT place FROM lost)")
        with self._in_one_line():
            found = self._engine.sql(
                "SELECT lost.place, id_high, id_low FROM lost JOIN standing ON rank = best ORDER BY lost.place"
            ).to_arrow_table()
        self._do("DROP TABLE lost")
        places, high, low = (column.to_numpy().astype(np.uint64) for column in found.columns)
        return places, high, low

    def _do(self, statement: str) -> None:
        with self._in_one_line():
            self._engine.execute(statement)

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            said = str(error).splitlines()[0][:200]
            where = Path(self._folder.name).parent
            raise StageError(
                f"choosing who stays of duplicates: {said}; what does not fit into memory lies in {where}: make room "
                "there, or name another folder in TMPDIR"
            ) from None


def _leaves(kind: Kind) -> tuple[str, ...]:
    return ("cluster", "size", "texts") if kind == "near" else ("cluster", "size")


def _preference_names(choice: Choice) -> list[str]:
    return [f"preference{number}" for number in range(len(choice.preferences))]


def _schema(choice: Choice) -> pa.Schema:
    names = ["place", *_preference_names(choice), "id_high", "id_low"]
    names += [f"{kind}_{word}" for kind in choice.kinds for word in ("high", "low")]
    return pa.schema([pa.field(name, pa.uint64()) for name in names])


def _clustered(block: Mapping[str, pa.Array], kind: Kind) -> NDArray[np.bool_]:
    sizes = block[f"{layer_of_kind(kind)}.size"]
    found: NDArray[np.bool_] = pc.fill_null(pc.greater(sizes, 1), False).to_numpy(zero_copy_only=False)
    return found


def _candidates(
    choice: Choice,
    block: Mapping[str, pa.Array],
    chosen: Rows,
    there: Mapping[Kind, NDArray[np.bool_]],
    first: np.uint64,
    source: str,
) -> pa.RecordBatch:
    taken = pa.array(chosen)
    columns: list[pa.Array] = [pa.array(first + chosen.astype(np.uint64))]
    for one in choice.preferences:
        keys = _keys(one, choice, block, taken, source)
        columns.append(pa.array(keys))
    columns += [pa.array(words) for words in words_of(block["samples.id"].take(taken))]
    for kind in choice.kinds:
        alone = ~there[kind][chosen]
        columns += [
            pa.array(words, mask=alone) for words in words_of(block[f"{layer_of_kind(kind)}.cluster"].take(taken))
        ]
    return pa.RecordBatch.from_arrays(columns, schema=_schema(choice))


def _keys(one: BoundPreference, choice: Choice, block: Mapping[str, pa.Array], taken: pa.Array, source: str) -> Keys:
    if one.column is None:
        return source_keys(choice.sources, source, len(taken))
    return one.keys(block[one.column.name].take(taken))


def _rows_of(places: Words) -> Rows:
    """Where in their shard rows are."""
    return (places & np.uint64((1 << _ROW_BITS) - 1)).astype(np.int64)


def _large(block: Mapping[str, pa.Array], most: int) -> list[LargeCluster]:
    """The clusters of too many texts, each told of by the row that it is named by."""
    layer = layer_of_kind("near")
    over = pc.and_(
        pc.greater(block[f"{layer}.texts"], most),
        pc.equal(block["samples.id"], block[f"{layer}.cluster"]),
    )
    named = pa.table({name: block[f"{layer}.{name}"] for name in ("texts", "size", "cluster")}).filter(over)
    return [LargeCluster(row["texts"], row["size"], row["cluster"].hex()) for row in named.to_pylist()]


def _accepted(block: Mapping[str, pa.Array], config: DedupeConfig) -> dict[str, int]:
    """What is accepted of clusters: by any of their rows, as the one that names a cluster may change as it grows."""
    most = {bytes.fromhex(one.name): one.max_cluster for one in config.guard.clusters}
    if not most:
        return {}
    named = pc.is_in(block["samples.id"], pa.array(list(most), pa.binary(ID_BYTES)))
    pairs = zip(*(block[name].filter(named).to_pylist() for name in ("samples.id", "dedupe.near.cluster")), strict=True)
    return {cluster.hex(): most[identity] for identity, cluster in pairs if cluster is not None}
