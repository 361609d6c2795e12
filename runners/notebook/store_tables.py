"""The tables of a store: samples, layers, both side by side, what was left out at ingest, and what rules decide.

Rows of layers lie beside those of samples, so each table has the ids of its rows. Forgotten rows are in none.
"""

import binascii
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.reading.columns import Column, column_of, leaves, read_aligned
from winnow.pipelines.rules.deciding import choose_representatives, decide, dropped_samples
from winnow.pipelines.rules.pinning import PinnedShards, ShardObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.redaction import hidden_in
from winnow.pipelines.store.integrity.damage import MissingError
from winnow.pipelines.store.tables import read_batches, read_schema
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.problems import suggestion
from winnow.schemas.records import Generation
from winnow.schemas.rows.samples import DROPPED, QUARANTINE, SAMPLES

ROWS, DECISIONS = "rows", "decisions"
BLOCK_ROWS: Final = 4_096

_LEFT_OUT: Final = {"quarantine": QUARANTINE, "dropped": DROPPED}
_DECIDED: Final = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("kept", pa.bool_()),
        ("reason", pa.string()),  # the first of its reasons
        ("reasons", pa.list_(pa.string())),
        ("duplicate_of", pa.string()),  # the sample that is kept in its place
    ]
)


@dataclass(frozen=True)
class StoreTables:
    """The tables of a generation, by default the latest, as a recipe reads it, or else as the recipe that published it
    does."""

    store: Store
    recipe: BoundRecipe | None = None
    chosen: Generation | None = None

    @cached_property
    def generation(self) -> Generation:
        """What is read."""
        return require_latest_for(self.recipe, self.store) if self.chosen is None else self.chosen

    @cached_property
    def layers(self) -> dict[str, pa.Schema]:
        """The columns of samples and of each layer; without a sample no layer has any."""
        found = {layout.SAMPLES: SAMPLES}
        for layer in sorted(self.generation.layers, key=lambda name: (name != layout.SAMPLES, name)):
            row = self.store.first_object(self.generation, layer)
            if row is not None:
                found[layer] = read_schema(self.store.objects, row.object)
        return found

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of every table."""
        own = {
            layer: _with_ids(pa.schema([field for field in schema if field.name != "id"]))
            for layer, schema in self.layers.items()
        }
        rows = pa.schema([(name, _shown(kind)) for name, kind in self.columns.items()])
        return own | {ROWS: rows} | _LEFT_OUT | ({DECISIONS: _DECIDED} if self.recipe is not None else {})

    @cached_property
    def columns(self) -> dict[str, pa.DataType]:
        """Every column of samples and layers by its dotted name, as in recipes; those inside of structs too."""
        return {f"{layer}.{leaf}": info.type for layer, schema in self.layers.items() for leaf, info in leaves(schema)}

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table in the order of shards, with these of its columns, some at a time."""
        with self._not_deleted():
            yield from self._read(table, columns)

    def _read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if table in _LEFT_OUT:
            yield from self._left_out(table, columns)
        elif table == DECISIONS:
            yield from (batch.select(list(columns)) for batch in self._decided())
        elif table == ROWS:
            yield from self.read_columns(columns)
        else:
            wanted = [Column(table, name) for name in columns if name != "id"]
            for block in self._blocks([_ID, *wanted]):
                found = {column.leaf: block[column.name] for column in wanted} | {"id": _hex(block[_ID.name])}
                yield pa.RecordBatch.from_pydict({name: _plain(found[name]) for name in columns})

    def read_columns(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns, by dotted names, side by side; StoreError, with the nearest name, if the store lacks one."""
        wanted = [self.column(name) for name in names]
        with self._not_deleted():
            for block in self._blocks(wanted or [_ID]):
                yield pa.RecordBatch.from_arrays([_plain(block[column.name]) for column in wanted], names=list(names))

    @contextmanager
    def _not_deleted(self) -> Iterator[None]:
        """Explains a missing file that `winnow gc` deleted with its generation: that is no damage."""
        try:
            yield
        except MissingError:
            number = self.generation.number
            if number in self.store.generation_numbers():
                raise
            line = f"{self.store.root}: generation {number}, which is read here, has been deleted; open the store again"
            raise StoreError(line) from None

    def column(self, name: str) -> Column:
        """The column of a dotted name, which may also be a struct; of samples also without `samples.`."""
        for full in (name, f"{layout.SAMPLES}.{name}"):
            found = column_of(full, self.layers)
            if found is not None and (full in self.columns or any(one.startswith(f"{full}.") for one in self.columns)):
                return found
        if name in self.layers:
            first = next(one for one in self.columns if one.startswith(f"{name}."))
            raise StoreError(f"{self.store.root}: {name!r} is a table; name columns of it, such as {first!r}")
        known = {*self.columns, *(() if "." in name else self.layers[layout.SAMPLES].names)}
        raise StoreError(f"{self.store.root}: no column {name!r}{suggestion(name, known)}")

    def type_of(self, name: str) -> pa.DataType:
        """The type under which a column is given."""
        column = self.column(name)
        field = self.layers[column.layer].field(column.leaf.partition(".")[0])
        kind = field.type
        for part in column.leaf.split(".")[1:]:
            kind = kind.field(part).type
        return _shown(kind)

    def _blocks(self, columns: Sequence[Column]) -> Iterator[dict[str, pa.Array]]:
        """The visible rows of every shard."""
        layers = dict.fromkeys([layout.SAMPLES, *(column.layer for column in columns)])
        manifests = {layer: self.store.manifest(self.generation, layer) for layer in layers}
        hidden = {shard: found.rows for shard, found in hidden_rows(self.store, self.generation).items()}
        for shard in PinnedShards(manifests, hidden):
            yield from self._visible(shard, columns)

    def _visible(self, shard: ShardObjects, columns: Sequence[Column]) -> Iterator[dict[str, pa.Array]]:
        at = 0
        for block in read_aligned(self.store.objects, shard.objects, columns, BLOCK_ROWS):
            rows = len(next(iter(block.values())))
            hidden = hidden_in(shard.hidden, at, rows)
            if hidden.any():
                block = {name: array.filter(pa.array(~hidden)) for name, array in block.items()}
            at += rows
            yield block

    def _left_out(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        forgotten = ForgottenRanges.of(self.store, self.store.generation_record(self.generation.number))
        for commit in self.store.tasks(self.generation):
            if table == "quarantine":
                yield from (batch.select(list(columns)) for batch in forgotten.read(commit))
            elif commit.dropped is not None:
                yield from read_batches(self.store.objects, commit.dropped.path, list(columns))

    def _decided(self) -> Iterator[pa.RecordBatch]:
        assert self.recipe is not None
        pinned = pinned_rules(self.recipe, self.store, self.generation, more=(layout.SAMPLES,))
        if pinned is None:
            raise RecipeError(f"{self.recipe.file}: it has no rules, so nothing is decided")
        duplicates = choose_representatives(pinned)
        for shard, decisions in zip(pinned.shards, decide(pinned, duplicates=duplicates), strict=True):
            dropped = dropped_samples(pinned, shard, decisions, duplicates).combine_chunks()
            blocks = read_aligned(self.store.objects, shard.objects, [_ID], BLOCK_ROWS)
            ids = pa.concat_arrays([block[_ID.name] for block in blocks])
            seen = ~hidden_in(shard.hidden, 0, shard.rows)
            at = pc.index_in(ids, value_set=_only(dropped["id"]))
            yield pa.RecordBatch.from_arrays(
                [
                    _hex(ids),
                    pa.repeat(pa.scalar(shard.source), shard.rows),
                    at.is_null(),
                    _only(dropped["reason"]).take(at),
                    _only(dropped["reasons"]).take(at).cast(_DECIDED.field("reasons").type),
                    _hex(_only(dropped["duplicate_of"]).take(at)),
                ],
                schema=_DECIDED,
            ).filter(pa.array(seen))


_ID: Final = Column(layout.SAMPLES, "id")


def _with_ids(schema: pa.Schema) -> pa.Schema:
    return pa.schema([("id", pa.string()), *((field.name, _shown(field.type)) for field in schema)])


def _shown(kind: pa.DataType) -> pa.DataType:
    """The type under which a column is given: ids are hexadecimal texts, as commands print and take them."""
    return pa.string() if kind == pa.binary(16) else kind


def _only(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _plain(array: pa.Array) -> pa.Array:
    return _hex(array) if array.type == pa.binary(16) else array


def _hex(ids: pa.Array) -> pa.StringArray:
    """Ids as texts of 32 digits."""
    filled = pc.fill_null(ids, bytes(16)) if ids.null_count else ids
    raw = memoryview(filled.buffers()[1] or b"")[16 * filled.offset : 16 * (filled.offset + len(filled))]
    ends = pa.py_buffer(np.arange(len(ids) + 1, dtype=np.int32) * 32)
    texts = pa.StringArray.from_buffers(len(ids), ends, pa.py_buffer(binascii.hexlify(raw)))
    return pc.if_else(ids.is_valid(), texts, None) if ids.null_count else texts
