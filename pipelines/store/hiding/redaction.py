"""The redacted form of a forgotten row, which keeps its position but none of its content.

A sample keeps its id and its source range, so that layers stay aligned, ids stay the same and ranges still
tile their file; its modality marks it as forgotten. In every other layer its status says so and all else is null.
There is no other redacted form, however a row came to be forgotten, so equal tombstones make equal stores.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.store import layout
from winnow.schemas.tombstones import FORGOTTEN

KEPT = frozenset({"id", "source_class", "licence"})
KEPT_OF_SOURCE = frozenset({"name", "path", "offset", "length", "unit", "member"})
STATED = {layout.SAMPLES: {"modality": FORGOTTEN, "metadata": "{}"}}
MEASURED = {"status": FORGOTTEN}


def redacted_batches(
    layer: str, batches: Iterable[pa.RecordBatch], rows: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """The batches of an object from its first row on, possibly only some columns, with the given sorted rows made
    redacted."""
    at = 0
    for batch in batches:
        yield redacted(layer, batch, hidden_in(rows, at, batch.num_rows))
        at += batch.num_rows


def redacted(layer: str, batch: pa.RecordBatch, which: NDArray[np.bool_]) -> pa.RecordBatch:
    """The batch with these rows made redacted."""
    if not which.any():
        return batch
    samples = layer == layout.SAMPLES
    stated = STATED.get(layer, MEASURED)
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if samples and field.name in KEPT:
            columns.append(column)
        elif samples and field.name == "source":
            columns.append(_source(column, which))
        else:
            columns.append(emptied(field, column, which, stated.get(field.name)))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _source(column: pa.StructArray, which: NDArray[np.bool_]) -> pa.StructArray:
    children = [
        child if field.name in KEPT_OF_SOURCE else emptied(field, child, which)
        for field, child in zip(column.type, column.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=list(column.type))


def emptied(field: pa.Field, column: pa.Array, which: NDArray[np.bool_], stated: str | None = None) -> pa.Array:
    """The column with null in these rows, or `stated`, or the empty value where null is not allowed."""
    if stated is None and field.nullable:
        return column.take(pa.array(np.arange(len(column)), mask=which))
    value = pa.array([_empty(field.type) if stated is None else stated], field.type)
    places = np.where(which, len(column), np.arange(len(column)))
    return pa.concat_arrays([column, value]).take(pa.array(places))


def _empty(kind: pa.DataType) -> object:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return []
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_fixed_size_binary(kind):
        return bytes(kind.byte_width)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return b""
    if pa.types.is_struct(kind):
        return {child.name: None if child.nullable else _empty(child.type) for child in kind}
    return 0


def is_redacted(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows of a batch of samples are redacted; needs their modality."""
    marked: NDArray[np.bool_] = pc.equal(batch["modality"], FORGOTTEN).to_numpy(zero_copy_only=False)
    return marked


def hidden_in(hidden: NDArray[np.int64], first: int, count: int) -> NDArray[np.bool_]:
    """Return which of `count` rows, from row `first` on, are among the sorted row numbers `hidden`."""
    start, end = np.searchsorted(hidden, (first, first + count))
    found = np.zeros(count, np.bool_)
    found[hidden[start:end] - first] = True
    return found
