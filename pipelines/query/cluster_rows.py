"""The rows of one shard of a layer of duplicates, or their items, beside their ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.reading.items import item_lines
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.rows.duplicates import HASH_BITS, OF_ITEMS, Kind, layer_of_kind

OF_NEAR = pa.schema([("texts", pa.int64()), ("similarity", pa.float64()), ("by", pa.string())])
"""Columns that some kinds, or older layers, do not have: null there. Those of pictures are made of `hashes` and
`distance`, where the similarity of two hashes is the share of their bits that agree, or of `vectors`."""

_ID = Column(layout.SAMPLES, "id")


@dataclass(frozen=True)
class ClusterLines:
    """Rows of a shard, or their items where a kind compares items: one line each."""

    rows: NDArray[np.int64]  # numbers in the shard, ascending
    items: NDArray[np.int64]  # 0 where rows are compared
    columns: Mapping[str, pa.Array]  # `samples.id` is an item's id where items are compared


def read_clusters(
    store: ObjectStore,
    kind: Kind,
    objects: Mapping[str, str],
    columns: Sequence[str],
    hidden: NDArray[np.int64] | None,
) -> Iterator[ClusterLines]:
    """Yield batches of the layer's rows or items; a missing column is null.

    Args:
        store: The store.
        kind: The kind of duplicates.
        objects: The shard's objects of the layer and of the samples.
        columns: The columns that the layer has, without those of `OF_ROWS`.
        hidden: Forgotten rows, which are read as neutral ones.
    """
    layer, start = layer_of_kind(kind), 0
    for batch in read_aligned(
        store, objects, [*(Column(layer, name) for name in columns), _ID], ROW_GROUP_ROWS, hidden
    ):
        count = len(batch[_ID.name])
        if kind in OF_ITEMS:
            found = item_lines(batch, [f"{layer}.{name}" for name in columns], _ID.name)
            yield ClusterLines(start + found.rows, found.items, _completed(found.columns, layer))
        else:
            every = np.arange(count)
            yield ClusterLines(start + every, np.zeros_like(every), _completed(batch, layer))
        start += count


def _completed(columns: Mapping[str, pa.Array], layer: str) -> Mapping[str, pa.Array]:
    """Return the columns, and those of `OF_NEAR`."""
    missing = {f"{layer}.{one.name}": pa.nulls(len(columns[_ID.name]), one.type) for one in OF_NEAR}
    if f"{layer}.hashes" in columns:
        missing[f"{layer}.texts"] = columns[f"{layer}.hashes"]
        distance = columns[f"{layer}.distance"]
        missing[f"{layer}.similarity"] = pc.subtract(1.0, pc.divide(distance, HASH_BITS))
        missing[f"{layer}.by"] = pc.if_else(pc.equal(distance, 0), "equal", "bits")
    if f"{layer}.vectors" in columns:
        missing[f"{layer}.texts"] = columns[f"{layer}.vectors"]
        missing[f"{layer}.by"] = pc.if_else(pc.equal(columns[f"{layer}.similarity"], 1), "equal", "cosine")
    if f"{layer}.videos" in columns:
        share = columns[f"{layer}.own_share"]
        missing[f"{layer}.texts"], missing[f"{layer}.similarity"] = columns[f"{layer}.videos"], share
        missing[f"{layer}.by"] = pc.if_else(pc.is_valid(share), "frames", pa.scalar(None, pa.string()))
    return {**missing, **columns}
