"""The rows of one shard of a layer of duplicates, or their items, beside their ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import DuplicateKind, find_kind
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.reading.items import item_lines
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.rows.duplicates import Kind, layer_of_kind

COUNTED, SIMILARITY, BY = "texts", "similarity", "by"
"""The columns in which all kinds say how many different members a cluster has, how similar a line is to its match, and
how that was determined; null where a kind does not say it."""

_ID = Column(layout.SAMPLES, "id")


@dataclass(frozen=True)
class ClusterLines:
    """Rows of a shard, or their items where a kind compares items: one line each."""

    rows: NDArray[np.int64]  # numbers in the shard, ascending
    items: NDArray[np.int64]  # 0 where rows are compared
    columns: Mapping[str, pa.Array]  # `samples.id` is an item's id where items are compared


def read_clusters(
    store: ObjectStore, kind: Kind, objects: Mapping[str, str], columns: Sequence[str], hidden: NDArray[np.int64] | None
) -> Iterator[ClusterLines]:
    """Yield batches of the layer's rows or items; a missing column is null.

    `objects`: the shard's objects of the layer and of the samples; `columns`: those of the layer, without `OF_ROWS`;
    `hidden`: forgotten rows, which are read as redacted.
    """
    of, layer, start = find_kind(kind), layer_of_kind(kind), 0
    for batch in read_aligned(
        store, objects, [*(Column(layer, name) for name in columns), _ID], ROW_GROUP_ROWS, hidden
    ):
        count = len(batch[_ID.name])
        if of.unit.of_items:
            found = item_lines(batch, [f"{layer}.{name}" for name in columns], _ID.name)
            yield ClusterLines(start + found.rows, found.items, _completed(of, columns, found.columns))
        else:
            every = np.arange(count)
            yield ClusterLines(start + every, np.zeros_like(every), _completed(of, columns, batch))
        start += count


def said_of(kind: DuplicateKind, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the values of a kind's lines in the same columns for all kinds; a layer may lack some."""
    rows, counted, (similarity, by) = len(columns["cluster"]), columns.get(kind.counted), kind.said(columns)
    return {
        COUNTED: pa.nulls(rows, pa.int64()) if counted is None else counted,
        SIMILARITY: pa.nulls(rows, pa.float64()) if similarity is None else similarity,
        BY: pa.nulls(rows, pa.string()) if by is None else by,
    }


def _completed(kind: DuplicateKind, names: Sequence[str], columns: Mapping[str, pa.Array]) -> Mapping[str, pa.Array]:
    """Return the columns of lines, and what they say in the same columns for all kinds."""
    completed = said_of(kind, {name: columns[f"{kind.layer}.{name}"] for name in names})
    return {**columns, **{f"{kind.layer}.{name}": values for name, values in completed.items()}}
