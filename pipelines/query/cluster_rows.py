"""The rows of one shard of a layer of duplicates, beside their ids."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.rows.duplicates import HASH_BITS, Kind, layer_of_kind

OF_NEAR = pa.schema([("texts", pa.int64()), ("similarity", pa.float64()), ("by", pa.string())])
"""Columns that some kinds, or older layers, do not have: null there. Those of pictures are made of `hashes` and
`distance`: the similarity of two hashes is the share of their bits that agree."""

_ID = Column(layout.SAMPLES, "id")


def read_clusters(
    store: ObjectStore,
    kind: Kind,
    objects: Mapping[str, str],
    columns: Sequence[str],
    hidden: NDArray[np.int64] | None,
) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
    """Yield batches of the layer's rows, each with the number of its first row; a missing column is null.

    Args:
        store: The store.
        kind: The kind of duplicates.
        objects: The shard's objects of the layer and of the samples.
        columns: The columns that the layer has.
        hidden: Forgotten rows, which are read as neutral ones.
    """
    layer = layer_of_kind(kind)
    start = 0
    for batch in read_aligned(
        store, objects, [*(Column(layer, name) for name in columns), _ID], ROW_GROUP_ROWS, hidden
    ):
        count = len(batch[_ID.name])
        missing = {f"{layer}.{one.name}": pa.nulls(count, one.type) for one in OF_NEAR}
        if kind == "pdq":
            missing[f"{layer}.texts"] = batch[f"{layer}.hashes"]
            missing[f"{layer}.similarity"] = pc.subtract(1.0, pc.divide(batch[f"{layer}.distance"], HASH_BITS))
        yield start, {**missing, **batch}
        start += count
