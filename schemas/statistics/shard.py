"""Statistics of a shard, built batch by batch, and of any union of shards.

    counted = ShardStatistics.of(SAMPLES_STATISTICS, batches)
    counted.merge(others).to_json()

The bytes depend only on the rows, not on batches or the order or grouping of merges.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from winnow.schemas.errors import StoreError
from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics.columns import ColumnSpec, ColumnStatistics, WrittenColumn, kind_of
from winnow.schemas.typed_json import Count, read_value

VERSION = 1
SHARD_VALUES = 64
"""The most values of a categorical column that a shard keeps."""
LAYER_VALUES = 1024
"""The most values of a text column, such as languages, that a shard of a measured layer keeps."""
STORE_VALUES = 65_536
"""The most values kept while the shards of a store are merged."""


@dataclass(frozen=True, slots=True)
class StatisticsSpec:
    """What to count for a table, and how many values of categorical columns a shard keeps."""

    columns: tuple[ColumnSpec, ...]
    values: int = SHARD_VALUES


def layer_spec(layer: str, schema: pa.Schema) -> StatisticsSpec:
    """What to count for a layer, from its name and columns."""
    if layer == "samples":
        return SAMPLES_STATISTICS
    if layer.startswith(EXTRACTED):
        few = ("status", "language", "kind")
        return spec_of(schema, categorical=[name for name in few if name in schema.names])
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return spec_of(schema, categorical=texts, undistinguished=texts, values=LAYER_VALUES)


def spec_of(
    schema: pa.Schema,
    *,
    categorical: Collection[str] = (),
    undistinguished: Collection[str] = (),
    skip: Collection[str] = (),
    values: int = SHARD_VALUES,
) -> StatisticsSpec:
    """What to count for each leaf of a schema, by its Arrow type; leaves of structs have dotted names.

    Each value of `categorical` leaves is counted; `undistinguished` leaves have no count of distinct values; `skip`
    omits columns or leaves.
    """
    leaves: list[ColumnSpec] = []

    def walk(field: pa.Field, parents: tuple[str, ...]) -> None:
        path = (*parents, field.name)
        name = ".".join(path)
        if name in skip:
            return
        kind = kind_of(field.type)
        if kind is None:
            for child in field.type:
                walk(child, path)
            return
        distinct = kind in ("text", "binary") and name not in undistinguished
        leaves.append(ColumnSpec(path, kind, distinct, name in categorical))

    for field in schema:
        walk(field, ())
    found = {leaf.name: leaf for leaf in leaves}
    if len(found) != len(leaves):
        raise ValueError("two columns have the same name once structs are written with dots")
    for name in categorical:
        if name not in found or found[name].kind != "text":
            raise ValueError(f"categorical column {name!r}: expected a text column of the schema")
    return StatisticsSpec(tuple(leaves), values)


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A shard's statistics in JSON."""

    version: int
    rows: Count
    columns: dict[str, WrittenColumn]


class ShardStatistics:
    """Row and column counts. `add` while a shard is being written; `merge` and `to_json` afterwards."""

    def __init__(self, spec: StatisticsSpec):
        self.rows = 0
        self.columns = {column.name: ColumnStatistics.empty(column) for column in spec.columns}
        self._spec: StatisticsSpec | None = spec

    @classmethod
    def of(cls, spec: StatisticsSpec, batches: Iterable[pa.RecordBatch]) -> "ShardStatistics":
        """The statistics of one shard's batches."""
        found = cls(spec)
        for batch in batches:
            found.add(batch)
        return found

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch of the shard. Missing columns count as null."""
        if self._spec is None:
            raise ValueError("these statistics were merged or read; batches can only be added to new ones")
        self.rows += batch.num_rows
        for column in self._spec.columns:
            array = _leaf(batch, column.path)
            if array is None:
                self.columns[column.name].add_nulls(batch.num_rows)
                continue
            kind = kind_of(array.type)
            if kind == column.kind:
                self.columns[column.name].add(array)
            elif pa.types.is_null(array.type):
                self.columns[column.name].add_nulls(batch.num_rows)
            else:
                raise ValueError(f"column {column.name!r}: expected {column.kind}, found {array.type}")

    def merge(self, other: "ShardStatistics") -> "ShardStatistics":
        """The merged statistics; a column that only one of them has is kept unchanged."""
        merged = self._sealed()
        merged.absorb(other)
        return merged

    def absorb(self, other: "ShardStatistics") -> None:
        """Merge with other statistics, in place."""
        self._seal()
        self.rows += other.rows
        for name, column in other._capped_columns().items():
            mine = self.columns.get(name)
            if mine is None:
                self.columns[name] = column.copy()
                continue
            try:
                mine.absorb(column)
            except ValueError as error:
                raise StoreError(f"statistics: column {name!r}: {error}; recompute the older of the two") from error

    def cap_values(self, limit: int) -> None:
        """Keep only the first `limit` values of each categorical column."""
        self.columns = {name: column.capped(limit) for name, column in self.columns.items()}

    def _capped_columns(self) -> dict[str, ColumnStatistics]:
        if self._spec is None:
            return self.columns
        return {name: column.capped(self._spec.values) for name, column in self.columns.items()}

    def _seal(self) -> None:
        self.columns = self._capped_columns()
        self._spec = None

    def _sealed(self) -> "ShardStatistics":
        copy = ShardStatistics(StatisticsSpec(()))
        copy.rows, copy._spec = self.rows, None
        copy.columns = {name: column.copy() for name, column in self._capped_columns().items()}
        return copy

    def to_json(self) -> bytes:
        """Canonical bytes: equal statistics have equal bytes."""
        columns: dict[str, Json] = {name: column.to_json() for name, column in self._capped_columns().items()}
        return canonical_json({"version": VERSION, "rows": self.rows, "columns": columns}).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> "ShardStatistics":
        """The inverse of `to_json`; StoreError if the bytes are invalid."""
        found = cls(StatisticsSpec(()))
        found._spec = None
        try:
            value = orjson.loads(raw)
            version = value.get("version") if isinstance(value, dict) else None
            if version != VERSION:
                raise ValueError(f"expected version {VERSION}, found {version!r:.40}")
            written = read_value(_Written, value)
            found.rows = written.rows
            found.columns = {name: ColumnStatistics.from_json(column) for name, column in written.columns.items()}
        except ValueError as error:
            raise StoreError(f"statistics: {error}; recompute them") from error
        return found


def by_layer_to_json(found: Mapping[str, ShardStatistics]) -> bytes:
    """The canonical bytes of a shard's statistics of several layers."""
    parts = (orjson.dumps(layer) + b":" + one.to_json() for layer, one in sorted(found.items()))
    return b"{" + b",".join(parts) + b"}"


def by_layer_from_json(raw: bytes, layers: Iterable[str]) -> dict[str, ShardStatistics]:
    """The statistics of these layers, from the bytes of all; StoreError if the bytes are invalid or lack one."""
    try:
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return {layer: ShardStatistics.from_json(bytes(parts[layer])) for layer in layers}
    except (msgspec.DecodeError, KeyError) as error:
        raise StoreError(f"statistics: {error}; recompute them") from error


class OrderedMerge:
    """Merges the statistics of a store's shards, given in the order of their names, in bounded memory.

    Beyond `values` distinct values in a categorical column the rarest are counted as `other`, so only these counts
    depend on the order.
    """

    def __init__(self, values: int = STORE_VALUES) -> None:
        self._merged = ShardStatistics(StatisticsSpec(()))
        self._merged._seal()
        self._values = values

    def add(self, shard: ShardStatistics) -> None:
        """Merge the next shard."""
        self._merged.absorb(shard)
        columns = self._merged.columns.values()
        if any(column.top is not None and len(column.top.counts) > 2 * self._values for column in columns):
            self._merged.cap_values(self._values)

    def finish(self) -> ShardStatistics:
        """The merged statistics, after the last shard."""
        self._merged.cap_values(self._values)
        return self._merged


def merge_in_order(shards: Iterable[ShardStatistics], values: int = STORE_VALUES) -> ShardStatistics:
    """Merge the statistics of shards with an `OrderedMerge`."""
    merged = OrderedMerge(values)
    for shard in shards:
        merged.add(shard)
    return merged.finish()


def _leaf(batch: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array | None:
    """The array of a leaf, null where a parent is; None if the batch has no such leaf."""
    if path[0] not in batch.schema.names:
        return None
    array = batch.column(path[0])
    for name in path[1:]:
        if not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
            return None
        array = pc.struct_field(array, name)
    return array


SAMPLES_STATISTICS = spec_of(
    SAMPLES,
    categorical=("source.name", "source.unit", "source_class", "licence", "domain", "modality", "mime"),
    undistinguished=("metadata",),
    skip=("id", "source.record"),  # different in every row
)
