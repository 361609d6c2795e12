"""The rows of a store summed by site, source, language and first reason, in every unit that is measured; and how many
duplicates sites have within themselves and in common.

The sums are in a database in a temporary folder, made in one pass over all shards: of a store with a site for every
row it has as many lines as rows, so it spills to that folder beyond a bound of memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import ROWS, find_kind
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.binding.sources import decode_limits
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.candidates import pixels_of, seconds_of
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.reading.columns import MEDIA, Column, read_aligned
from winnow.pipelines.rules.deciding import NARROW_BLOCK_ROWS, decide_shard, languages_of, size_columns, sizes_of
from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.map_shards import map_shards
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store import layout
from winnow.runners.inspect.cancelling import check_cancelled
from winnow.runners.inspect.decided_store import DecidedStore, decided_store
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError
from winnow.schemas.rows.duplicates import Kind, layer_of_kind
from winnow.schemas.rules.conditions import CLOSED
from winnow.schemas.uint128 import words_of

MEMORY: Final = "384MiB"
KEPT: Final = -1
"""In place of a rule's number."""

_DOMAIN, _TOKENS = Column(layout.SAMPLES, "domain"), Column(TOKENS_LAYER, "tokens")
_KEYS: Final = ("domain", "source", "language", "first")
_UNITS: Final = ("rows", "bytes", "tokens", "pixels", "seconds")
_CELL: Final = (
    f"domain VARCHAR, source VARCHAR, language VARCHAR, first INTEGER, {', '.join(f'{one} BIGINT' for one in _UNITS)}"
)
_SHARED: Final = """
CREATE TABLE shared AS
WITH member AS (SELECT kind, high, low, domain, sum(rows) AS rows FROM members GROUP BY ALL),
of_cluster AS (SELECT *, count(*) OVER (PARTITION BY kind, high, low) AS domains FROM member)
SELECT kind, domain, coalesce(sum(rows) FILTER (rows > 1), 0)::BIGINT AS within,
    coalesce(sum(rows) FILTER (domains > 1), 0)::BIGINT AS across
FROM of_cluster GROUP BY ALL ORDER BY domain
"""


@dataclass(frozen=True)
class Cells:
    """The sums, as tables of a database: `cells`, and `shared` with a line for each kind of duplicates and site."""

    decided: DecidedStore
    units: tuple[str, ...]  # that are measured
    kinds: tuple[Kind, ...]  # of duplicates of rows that were searched for
    _engine: duckdb.DuckDBPyConnection
    _folder: TemporaryDirectory[str]  # deleted with the object

    @property
    def nbytes(self) -> int:
        """The memory that the database takes now."""
        (found,) = self.select("SELECT sum(memory_usage_bytes)::BIGINT AS bytes FROM duckdb_memory()")
        return int(found["bytes"])

    def select(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, which is written here: what a page asks for is only in its values."""
        check_cancelled()
        cursor = self._engine.cursor()
        try:
            rows: list[dict[str, Any]] = cursor.sql(query, params=list(values)).to_arrow_table().to_pylist()
            return rows
        finally:
            cursor.close()


def cells(opened: Opened) -> Cells:
    """The sums, made once."""
    return opened.kept.get("cells", partial(_made, opened))


def _made(opened: Opened) -> Cells:
    decided = decided_store(opened)
    browser = Browser(opened.store, opened.generation, ())
    whole = [layer for layer in opened.generation.layers if layer not in opened.generation.partial]
    kinds = tuple(kind for kind in browser.kinds if find_kind(kind).unit == ROWS and layer_of_kind(kind) in whole)
    more = [layer_of_kind(kind) for kind in kinds] + [TOKENS_LAYER] * (TOKENS_LAYER in whole)
    pinned = decided.pinned.with_layers(opened.generation, more)
    limits = DecodeLimits() if opened.recipe is None else decode_limits(opened.recipe.config)
    pass_ = _Pass(pinned, decided, kinds, TOKENS_LAYER in whole, limits.max_pixels)
    folder = temporary_folder("inspect")
    engine = duckdb.connect(
        str(Path(folder.name) / "cells.duckdb"),
        config=CLOSED | {"memory_limit": MEMORY, "temp_directory": f"{folder.name}/spilled"},
    )
    engine.execute(f"CREATE TABLE parts ({_CELL})")
    engine.execute("CREATE TABLE members (kind VARCHAR, high UBIGINT, low UBIGINT, domain VARCHAR, rows BIGINT)")
    for table, members in map_shards(pinned, pass_.of_shard):
        for name, found in (("parts", table), ("members", members)):
            engine.register("found", found)
            engine.execute(f"INSERT INTO {name} SELECT * FROM found")
            engine.unregister("found")
    sums = ", ".join(f"sum({one})::BIGINT AS {one}" for one in _UNITS)
    engine.execute(f"CREATE TABLE cells AS SELECT {', '.join(_KEYS)}, {sums} FROM parts GROUP BY ALL ORDER BY domain")
    engine.execute("DROP TABLE parts")
    engine.execute(_SHARED)
    engine.execute("DROP TABLE members")
    totals = engine.execute("SELECT " + ", ".join(f"sum({one})" for one in _UNITS) + " FROM cells").fetchone()
    assert totals is not None
    units = tuple(one for one, total in zip(_UNITS, totals, strict=True) if total or one == "rows")
    return Cells(decided, units, kinds, engine, folder)


@dataclass(frozen=True)
class _Pass:
    """What is read of every shard."""

    pinned: PinnedProgram
    decided: DecidedStore
    kinds: tuple[Kind, ...]
    tokens: bool
    max_pixels: int

    def of_shard(self, shard: ShardObjects, evaluator: Evaluator) -> tuple[pa.Table, pa.Table]:
        """The sums of a shard's rows, and the sites of its clusters; forgotten rows are in neither."""
        first = decide_shard(self.pinned, shard, evaluator, self.decided.duplicates).first
        seen = first < len(self.pinned.program.rules)
        own = {_of(kind, leaf) for kind in self.kinds for leaf in ("cluster", "size")}
        columns = [_DOMAIN, MEDIA, *self.pinned.languages, *size_columns(self.pinned.size), *own]
        columns += [_TOKENS] if self.tokens else []
        parts: list[pa.Table] = []
        members: list[pa.Table] = []
        at = 0
        for block in read_aligned(
            self.pinned.store.objects, shard.objects, dict.fromkeys(columns), NARROW_BLOCK_ROWS, shard.hidden
        ):
            rows = len(block[_DOMAIN.name])
            within = slice(at, at + rows)
            parts.append(self._summed(shard.source, block, first[within], seen[within]))
            members += self._members(block)
            at += rows
        return pa.concat_tables(parts or [_NO_PARTS]), pa.concat_tables(members or [_NO_MEMBERS])

    def _summed(
        self, source: str, block: Mapping[str, pa.Array], first: NDArray[np.int32], seen: NDArray[np.bool_]
    ) -> pa.Table:
        rows = len(first)
        zeros = np.zeros(rows, np.int64)
        languages = languages_of(block, self.pinned.languages, rows)
        tokens = pc.fill_null(block[_TOKENS.name].cast(pa.int64()), 0) if self.tokens else zeros
        table = pa.table(
            [
                block[_DOMAIN.name],
                languages.dictionary.take(languages.indices).cast(pa.string()),
                pa.array(first),
                pa.array(sizes_of(block, self.pinned.size)),
                tokens if self.tokens else pa.array(zeros),
                pa.array(pixels_of(block[MEDIA.name], self.max_pixels)),
                pa.array(seconds_of(block[MEDIA.name])),
            ],
            names=["domain", "language", "first", *_UNITS[1:]],
        ).filter(pa.array(seen))
        sums = table.group_by(["domain", "language", "first"], use_threads=False).aggregate(
            [([], "count_all"), *((one, "sum") for one in _UNITS[1:])]
        )
        named = {
            "domain": sums["domain"],
            "source": pa.array([source] * len(sums), pa.string()),
            "language": sums["language"],
            "first": sums["first"],
            "rows": sums["count_all"],
            **{one: sums[f"{one}_sum"] for one in _UNITS[1:]},
        }
        return pa.table(named, schema=_NO_PARTS.schema)

    def _members(self, block: Mapping[str, pa.Array]) -> Iterator[pa.Table]:
        """The rows in clusters of several, counted by cluster and site."""
        for kind in self.kinds:
            many = pc.fill_null(pc.greater(block[_of(kind, "size").name], 1), False)
            high, low = words_of(block[_of(kind, "cluster").name].filter(many))
            table = pa.table({"high": high, "low": low, "domain": block[_DOMAIN.name].filter(many)})
            found = table.group_by(["high", "low", "domain"], use_threads=False).aggregate([([], "count_all")])
            named = pa.array([kind] * len(found), pa.string())
            columns = [named, found["high"], found["low"], found["domain"], found["count_all"]]
            yield pa.table(columns, schema=_NO_MEMBERS.schema)


def _of(kind: Kind, leaf: str) -> Column:
    return Column(layer_of_kind(kind), leaf)


_NO_PARTS: Final = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _KEYS[:3]),
        pa.field("first", pa.int32()),
        *(pa.field(name, pa.int64()) for name in _UNITS),
    ]
).empty_table()
_NO_MEMBERS: Final = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("high", pa.uint64()),
        pa.field("low", pa.uint64()),
        pa.field("domain", pa.string()),
        pa.field("rows", pa.int64()),
    ]
).empty_table()


def cells_where(found: Cells, chosen: Any, find: str = "") -> tuple[str, list[Any]]:
    """The condition of a page's filter, and its values; AskedError if cells do not know a column of it."""
    conditions, values = ["true"], list[Any]()
    if find:
        conditions.append("contains(domain, ?)")
        values.append(find.lower())
    if chosen is not None and not isinstance(chosen, Mapping):
        raise AskedError("filter: expected columns and their values")
    for name, value in (chosen or {}).items():
        if name in ("source", "language", "domain") and isinstance(value, str):
            conditions.append(f"{name} = ?")
            values.append(value)
        elif name == "reason" and isinstance(value, str):
            conditions.append("list_contains(?, first)")
            values.append([number for number, reason in enumerate(found.decided.reasons) if reason == value])
        elif name == "kept" and isinstance(value, bool):
            conditions.append(f"(first = {KEPT}) = ?")
            values.append(value)
        elif value is not None:
            raise AskedError(f"filter: sites and steps are not counted by {name}")
    return " AND ".join(conditions), values
