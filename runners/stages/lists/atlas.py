"""Writes a table of rows with their vectors' places on a map and their nearest neighbours, for embedding-atlas.

    embedding-atlas FILE --x x --y y --neighbors neighbors --text text

It has at most 50,000 rows, spread over the store. Texts are the beginnings of those that the recipe would export, with
its edits; without a recipe there are none. The file is registered, so that `winnow forget` names it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.outputs import MAP
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.vector_map import (
    MOST,
    Rows,
    cluster_words,
    map_vectors,
    neighbours,
    read_vectors,
    sampled_texts,
    spread_rows,
)
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import column_of, leaf_of
from winnow.pipelines.reading.text_edits import with_keys
from winnow.pipelines.reading.text_previews import EXCERPT_CHARACTERS
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.tables import read_rows
from winnow.runners.stages.lists.whole_file import registered_file, require_writable, whole_parquet
from winnow.runners.stages.opening import open_place
from winnow.runners.terminal.tables import print_line
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation

ATLAS: Final = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("item", pa.int64()),
        pa.field("x", pa.float32()),
        pa.field("y", pa.float32()),
        pa.field(
            "neighbors", pa.struct([("ids", pa.list_(pa.int32())), ("distances", pa.list_(pa.float32()))])
        ),  # numbers of rows of this table
        pa.field("cluster", pa.int16()),
        pa.field("cluster_words", pa.string()),
        pa.field("source", pa.string()),
        pa.field("url", pa.string()),
        pa.field("text", pa.string()),  # its beginning
    ]
)


def write_atlas(place: str, output: Path, layer: str, console: Console, most: int = MOST) -> int:
    """Write the table, and say how many rows it has; the exit status is 3 if no row has a vector."""
    require_writable("--atlas", output)
    recipe, store = open_place(place)
    generation = require_latest_for(recipe, store)
    if layer not in generation.layers:
        raise StoreError(f"{store.root}: has no layer {layer}; add {layer} to 'annotate' and run: winnow run RECIPE")
    table = atlas_table(recipe, store, generation, layer, most)
    if table.num_rows:
        with registered_file(store.objects, MAP, output, generation.number), whole_parquet(output, ATLAS) as writer:
            writer.write_table(table)
    print_line(console, f"{output}: {table.num_rows:,} rows of {layer} on a map")
    print_line(console, f"next  embedding-atlas {output} --x x --y y --neighbors neighbors --text text")
    return 0 if table.num_rows else 3


def atlas_table(
    recipe: BoundRecipe | None, store: Store, generation: Generation, layer: str, most: int = MOST
) -> pa.Table:
    """The table: a row for each vector, none of which is of a forgotten sample."""
    starts = np.cumsum([0, *(row.rows for row in store.manifest(generation, layout.SAMPLES))])
    sampled = read_vectors(store, generation, layer, starts, spread_rows(_seen(store, generation, starts), most))
    found, rows = map_vectors(sampled.vectors), sampled.rows
    ids, far = neighbours(sampled.vectors)
    previews = sampled_texts(store, generation, (), starts, rows)
    texts = [None] * len(rows) if recipe is None else _exported(recipe, store, generation, starts, rows)
    names = cluster_words([text or "" for text in texts], found.clusters)
    nearest = pa.StructArray.from_arrays([_lists(ids), _lists(far)], fields=list(ATLAS.field("neighbors").type))
    columns: list[Any] = [
        [one.id for one in previews],
        sampled.items,
        found.points[:, 0],
        found.points[:, 1],
        nearest,
        found.clusters,
        [names[cluster] for cluster in found.clusters.tolist()],
        [one.source for one in previews],
        [one.url for one in previews],
        texts,
    ]
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, field.type)
        for values, field in zip(columns, ATLAS, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=ATLAS)


def _seen(store: Store, generation: Generation, starts: Rows) -> Rows:
    """The numbers of all rows that are not forgotten."""
    seen = np.ones(int(starts[-1]), np.bool_)
    hidden = hidden_rows(store, generation)
    for number, row in enumerate(store.manifest(generation, layout.SAMPLES)):
        if row.shard in hidden:
            seen[starts[number] + hidden[row.shard].rows] = False
    return np.flatnonzero(seen)


def _exported(recipe: BoundRecipe, store: Store, generation: Generation, starts: Rows, rows: Rows) -> list[str | None]:
    """The beginning of each row's text with the recipe's edits; None if an edit is not measured for it."""
    names = [name for name in recipe.config.text if column_of(name, generation.layers) is not None]
    edits = with_keys([replace(one, when_null="drop") if one.when_null == "error" else one for one in recipe.edits])
    columns = [column for name in names if (column := column_of(name, generation.layers)) is not None]
    if not names or any(column.layer not in generation.layers for column in edits.columns):
        return [None] * len(rows)
    texts: list[str | None] = []
    bounds = np.searchsorted(rows, starts)
    objects = {column.layer: store.manifest(generation, column.layer) for column in (*columns, *edits.columns)}
    for number in range(len(starts) - 1):
        own = rows[bounds[number] : bounds[number + 1]] - starts[number]
        if not len(own):
            continue
        different, again = np.unique(own, return_inverse=True)  # an item is a line of the table, a row has one text
        values = {
            column.name: leaf_of(
                read_rows(store.objects, objects[column.layer][number].object, different.tolist(), [column.leaf])
                .combine_chunks()
                .to_batches()[0],
                column.leaf,
            )
            for column in (*columns, *edits.columns)
        }
        edited = edits.apply(text_of(names, values), values).texts
        texts += pc.utf8_slice_codeunits(edited, 0, EXCERPT_CHARACTERS).take(pa.array(again)).to_pylist()
    return texts


def _lists(values: NDArray[np.int32] | NDArray[np.float32]) -> pa.ListArray:
    """A list for each line."""
    ends = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(values.ravel()))
