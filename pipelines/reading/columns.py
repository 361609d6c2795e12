"""Resolves columns by dotted names, and reads rows of several layers side by side."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.rules.checking import ColumnInfo


@dataclass(frozen=True, slots=True)
class Column:
    """A leaf of a layer, such as `code` of `text.language` or `source.name` of `samples`."""

    layer: str
    leaf: str

    @property
    def name(self) -> str:
        """The name in recipes and operators."""
        return f"{self.layer}.{self.leaf}"


MEDIA: Final = Column("samples", "media")
"""The items of every sample."""


def column_of(name: str, layers: Iterable[str]) -> Column | None:
    """The column for a dotted name, among layers none of whose names is a prefix of another's."""
    for layer in layers:
        if name.startswith(f"{layer}."):
            return Column(layer, name.removeprefix(f"{layer}."))
    return None


def read_aligned(
    store: ObjectStore,
    objects: Mapping[str, str],
    columns: Iterable[Column],
    batch_rows: int,
    hidden: NDArray[np.int64] | None = None,
) -> Iterator[dict[str, pa.Array]]:
    """Reads the same rows of several layers, as arrays by dotted name, at most `batch_rows` at a time.

    `objects`: the object of each layer; all have the same rows in the same order (law 2). `hidden`: sorted numbers of
    forgotten rows, which are read as the redacted rows that a purge makes of them.
    """
    wanted: dict[str, list[str]] = {}
    for column in columns:
        wanted.setdefault(column.layer, []).append(column.leaf)
    streams = {layer: read_batches(store, objects[layer], leaves, batch_rows) for layer, leaves in wanted.items()}
    if hidden is not None and len(hidden):
        streams = {layer: redacted_batches(layer, stream, hidden) for layer, stream in streams.items()}
    held: dict[str, pa.RecordBatch | None] = dict.fromkeys(streams)
    while True:
        for layer, stream in streams.items():
            batch = held[layer]
            if batch is None or batch.num_rows == 0:
                held[layer] = next(stream, None)
        ready = {layer: batch for layer, batch in held.items() if batch is not None}
        if len(ready) < len(streams):
            break
        rows = min(batch.num_rows for batch in ready.values())
        yield {
            f"{layer}.{leaf}": leaf_of(ready[layer].slice(0, rows), leaf)
            for layer, leaves in wanted.items()
            for leaf in leaves
        }
        held = {layer: batch.slice(rows) for layer, batch in ready.items()}
    if ready:
        longer = objects[min(ready)]
        raise StoreError(f"{store.root}: {longer} has more rows than the layers beside it; run 'winnow audit'")


def leaf_of(batch: pa.RecordBatch, leaf: str) -> pa.Array:
    """The array of a leaf, null where one of its parents is."""
    first, *rest = leaf.split(".")
    array = batch.column(first)
    for name in rest:
        array = pc.struct_field(array, name)
    return array


def leaves(fields: pa.Schema | pa.StructType, *, nullable: bool = False) -> Iterator[tuple[str, ColumnInfo]]:
    """Every leaf of a layer by dotted name, with the facts that rules need."""
    for field in fields:
        if pa.types.is_struct(field.type):
            inner = leaves(field.type, nullable=nullable or field.nullable)
            yield from ((f"{field.name}.{name}", info) for name, info in inner)
        else:
            yield field.name, ColumnInfo(nullable or field.nullable, field.type)
