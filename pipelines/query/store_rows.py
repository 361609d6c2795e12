"""The rows of a store in one process, by columns of any of its layers."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from winnow.pipelines.reading.columns import Column, leaves, read_aligned
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import NOTHING
from winnow.pipelines.store.tables import read_schema
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.records import Generation


def rows_of_store(
    store: Store, generation: Generation, columns: Sequence[Column], batch_rows: int = 1024
) -> Iterator[dict[str, pa.Array]]:
    """The rows of a generation in order of shards, in batches of columns by dotted name; forgotten ones are empty.

    Raises:
        RecipeError: A shard lacks a layer, or a layer a column.
    """
    manifests = {
        layer: store.manifest(generation, layer).objects for layer in sorted({column.layer for column in columns})
    }
    hidden = hidden_rows(store, generation)
    for shard in sorted(set().union(*manifests.values())):
        lacking = next((layer for layer, objects in manifests.items() if shard not in objects), None)
        if lacking:
            raise RecipeError(f"{store.root}: shard {shard} has no layer {lacking}; run winnow annotate first")
        objects = {layer: found[shard] for layer, found in manifests.items()}
        _check_columns(store, objects, columns)
        yield from read_aligned(store.objects, objects, columns, batch_rows, hidden.get(shard, NOTHING).rows)


def _check_columns(store: Store, objects: dict[str, str], columns: Sequence[Column]) -> None:
    for layer, path in objects.items():
        known = dict(leaves(read_schema(store.objects, path)))
        for column in columns:
            if column.layer == layer and column.leaf not in known:
                names = [f"{layer}.{leaf}" for leaf in known]
                raise RecipeError(f"unknown column {shown(column.name)}{suggestion(column.name, names)}")
