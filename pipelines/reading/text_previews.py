"""Reads the beginnings of a few rows' texts, for reports that list samples. Only these rows are read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.reading.columns import Column, column_of, leaf_of
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.records import Generation

EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class TextPreview:
    """A sample, and the beginning of its text; empty if it has none."""

    id: str
    source: str
    url: str | None
    modality: str
    text: str


def read_previews(
    store: Store, generation: Generation, text: tuple[str, ...], wanted: Mapping[str, Collection[int]]
) -> dict[tuple[str, int], TextPreview]:
    """Reads the beginnings of the wanted rows' texts.

    `text`: the columns of texts, in order of preference. `wanted`: row numbers by shard; rows are read unmodified, so
    none may be forgotten.
    """
    columns = [column for name in text if (column := column_of(name, generation.layers)) is not None]
    objects = {
        layer: store.manifest(generation, layer).objects
        for layer in {layout.SAMPLES, *(column.layer for column in columns)}
    }
    found: dict[tuple[str, int], TextPreview] = {}
    for shard, numbers in sorted(wanted.items()):
        check_cancelled()
        rows = sorted(numbers)
        wanted_columns = ["id", "source.name", "url", "modality"]
        table = read_rows(store.objects, objects[layout.SAMPLES][shard], rows, wanted_columns)
        texts = [_texts(store.objects, objects[column.layer][shard], rows, column) for column in columns]
        facts = zip(*(table[name].to_pylist() for name in ("id", "source", "url", "modality")), strict=True)
        for place, (row, (identity, source, url, modality)) in enumerate(zip(rows, facts, strict=True)):
            shown = next((value for values in texts if (value := values[place]) is not None), "")
            found[shard, row] = TextPreview(identity.hex(), source["name"], url, modality, shown)
    return found


def _texts(store: ObjectStore, path: str, rows: list[int], column: Column) -> list[str | None]:
    table = read_rows(store, path, rows, [column.leaf])
    found = leaf_of(table.combine_chunks().to_batches()[0], column.leaf)
    texts: list[str | None] = pc.utf8_slice_codeunits(found, 0, EXCERPT_CHARACTERS).to_pylist()
    return texts
