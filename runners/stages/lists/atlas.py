"""Writes a table of rows with their vectors' places on a map and their nearest neighbours, for embedding-atlas.

    embedding-atlas FILE --x x --y y --neighbors neighbors --text text

It has at most 50,000 rows, spread over the store, or over the samples of an export that asks for one. Texts are the
beginnings of those that the recipe would export, with its edits; without a recipe there are none. The file is
registered, so that `winnow forget` names it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.outputs import MAP
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import edits_as_exported
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
from winnow.pipelines.reading.text_previews import EXCERPT_CHARACTERS
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.tables import read_rows, read_table
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
    written = _write(
        atlas_table(recipe, store, generation, layer, None, most), store, generation, layer, output, console
    )
    return 0 if written else 3


def write_exported_atlas(
    recipe: BoundRecipe, store: Store, generation: Generation, draws: str, layer: str, folder: str, console: Console
) -> None:
    """Write the table of an export's samples beside its folder; `draws`: the table of its draws."""
    output = atlas_beside(folder)
    require_writable("atlas", output)
    drawn = DrawnObjects.read(store.objects, draws)
    _write(atlas_table(recipe, store, generation, layer, drawn), store, generation, layer, output, console)


def atlas_beside(folder: str) -> Path:
    """The file of an export's map."""
    return Path(f"{folder.rstrip('/')}.atlas.parquet")


def _write(table: pa.Table, store: Store, generation: Generation, layer: str, output: Path, console: Console) -> int:
    """Write the table if it has rows, and say how many; without any, it takes the place of an older file alone, which
    would show rows that are there no longer."""
    if table.num_rows or output.exists():
        with registered_file(store.objects, MAP, output, generation.number), whole_parquet(output, ATLAS) as writer:
            writer.write_table(table)
    print_line(console, f"{output}: {table.num_rows:,} rows of {layer} on a map")
    if table.num_rows:
        print_line(console, f"next  embedding-atlas {output} --x x --y y --neighbors neighbors --text text")
    return int(table.num_rows)


def atlas_table(
    recipe: BoundRecipe | None,
    store: Store,
    generation: Generation,
    layer: str,
    drawn: DrawnObjects | None = None,
    most: int = MOST,
) -> pa.Table:
    """The table: a row for each vector, none of which is of a forgotten sample; `drawn`: of these samples alone."""
    manifest = store.manifest(generation, layout.SAMPLES)
    starts = np.cumsum([0, *(row.rows for row in manifest)])
    rows = _seen(store, generation, starts)
    if drawn is not None:
        first = {row.shard: int(start) for row, start in zip(manifest, starts, strict=False)}
        rows = np.intersect1d(rows, _drawn(store, drawn, first))
    sampled = read_vectors(store, generation, layer, starts, spread_rows(rows, most))
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


def _drawn(store: Store, drawn: DrawnObjects, first: Mapping[str, int]) -> Rows:
    """The numbers of the rows that are drawn; `first`: of each shard."""
    found = [np.zeros(0, np.int64)]
    for one in drawn:
        rows = read_table(store.objects, one.object, ["row"])["row"].to_numpy().astype(np.int64)
        found.append(rows + first[one.shard])
    return np.unique(np.concatenate(found))


def _seen(store: Store, generation: Generation, starts: Rows) -> Rows:
    """The numbers of all rows that are not forgotten."""
    seen = np.ones(int(starts[-1]), np.bool_)
    hidden = hidden_rows(store, generation)
    for number, row in enumerate(store.manifest(generation, layout.SAMPLES)):
        if row.shard in hidden:
            seen[starts[number] + hidden[row.shard].rows] = False
    return np.flatnonzero(seen)


def _exported(recipe: BoundRecipe, store: Store, generation: Generation, starts: Rows, rows: Rows) -> list[str | None]:
    """The beginning of each row's text with the recipe's edits; None if an edit is not measured for it.

    RecipeError if one is not measured by the recipe's settings.
    """
    names = [name for name in recipe.config.text if column_of(name, generation.layers) is not None]
    columns = [column for name in names if (column := column_of(name, generation.layers)) is not None]
    if not names:
        return [None] * len(rows)
    edits = edits_as_exported(recipe, store, generation)
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
