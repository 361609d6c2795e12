"""Counts, over a layer of `text.contamination`, the samples that each item of each evaluation set is found in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.contamination.sets import read_set
from winnow.filters.text.contamination import ContaminationConfig, open_index
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.schemas.records import Generation

WHOLE = 0.8
"""The share of an item's n-grams from which it counts as whole: DCLM's, Llama 2's and decon's."""

_LISTS = ["set", "item", "found", "covered", "answered"]
_FLAT = pa.schema(
    [
        ("set", pa.string()),
        ("item", pa.int64()),
        ("samples", pa.int64()),
        ("found", pa.float32()),
        ("covered", pa.float32()),
        ("answered", pa.bool_()),
        ("id", pa.binary(16)),
    ]
)


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item of a set, and the samples that have an n-gram of it."""

    set: str
    item: int  # its line in the file, or row of the table
    samples: int
    found: float  # the largest share of its n-grams that a sample has
    covered: float
    answered: bool | None  # whether a sample has its answer nearby; None if it has none
    id: str  # of a sample with the largest share
    question: str


@dataclass(frozen=True, slots=True)
class SetOverview:
    """An evaluation set, and how much of it is in the samples."""

    set: str
    items: int
    short: int  # too short to be searched for
    found: int
    whole: int
    answered: int  # found with their answer
    samples: int  # pairs of a sample and an item of the set


@dataclass(frozen=True, slots=True)
class SourceOverview:
    """The samples of a source that have an n-gram of any set."""

    source: str
    measured: int
    samples: int


@dataclass(frozen=True, slots=True)
class ItemsFound:
    """What of the evaluation sets is in a store."""

    layer: str
    sets: tuple[SetOverview, ...]
    sources: tuple[SourceOverview, ...]
    items: tuple[FoundItem, ...]  # of each set those found in most samples first


def count_items(store: Store, generation: Generation, bound: BoundOperator) -> ItemsFound:
    """Count the items of one layer; the columns of a shard are held at once, and the found items of all."""
    config: ContaminationConfig = bound.config
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES)}
    parts, sources = [_FLAT.empty_table()], dict[str, list[int]]()
    for row in store.manifest(generation, bound.layer):
        ids = pa.concat_arrays([batch["id"] for batch in store.batches(samples[row.shard], ["id"])])
        layer = pa.Table.from_batches(list(store.batches(row, ["ngrams", *_LISTS]))).combine_chunks()
        counts = sources.setdefault(row.source, [0, 0])
        counts[0] += layer.num_rows - layer["ngrams"].null_count
        counts[1] += int(pc.sum(pc.greater(layer["ngrams"], 0)).as_py() or 0)
        parts.append(_grouped(_flat(layer, ids)))
    found = _grouped(pa.concat_tables(parts))
    items = _named(config, bound, found)
    return ItemsFound(
        bound.layer,
        _sets(config, bound, items),
        tuple(SourceOverview(name, *counts) for name, counts in sorted(sources.items())),
        tuple(items),
    )


def _flat(layer: pa.Table, ids: pa.Array) -> pa.Table:
    """A row for each item of each sample."""
    lists = layer["item"].combine_chunks()
    owners = pc.list_parent_indices(lists)
    columns = {name: layer[name].combine_chunks().flatten() for name in _LISTS}
    ones = pa.array(np.ones(len(owners), np.int64))
    return pa.table({**columns, "id": ids.take(owners), "samples": ones}).select(_FLAT.names).cast(_FLAT)


def _grouped(rows: pa.Table) -> pa.Table:
    """A row for each item: samples, largest shares, and of the samples with most of it the one with the smallest id."""
    ordered = rows.sort_by([("set", "ascending"), ("item", "ascending"), ("found", "descending"), ("id", "ascending")])
    summed = ordered.group_by(["set", "item"], use_threads=False).aggregate(
        [("samples", "sum"), ("found", "max"), ("covered", "max"), ("answered", "max"), ("id", "first")]
    )
    return summed.rename_columns(_FLAT.names).cast(_FLAT)


def _named(config: ContaminationConfig, bound: BoundOperator, found: pa.Table) -> list[FoundItem]:
    """The items with their questions, of each set those found in most samples first."""
    questions: dict[tuple[str, int], str] = {}
    for one in config.sets:
        there = read_set(one, Path(bound.assets.path(one.file)))
        questions |= {(one.name, number): text for number, text in zip(there.numbers, there.questions, strict=True)}
    order = {one.name: number for number, one in enumerate(config.sets)}
    items = [
        FoundItem(**{**row, "id": row["id"].hex()}, question=questions.get((row["set"], row["item"]), ""))
        for row in found.to_pylist()
    ]
    return sorted(items, key=lambda one: (order[one.set], -one.samples, -one.found, one.item))


def _sets(config: ContaminationConfig, bound: BoundOperator, found: Sequence[FoundItem]) -> tuple[SetOverview, ...]:
    index = open_index(config, bound.assets)
    overviews = []
    for number, name in enumerate(index.sets):
        own, items = [one for one in found if one.set == name], index.items.set_of == number
        overviews.append(
            SetOverview(
                name,
                items=int(items.sum()) + index.empty[number],
                short=int((index.items.size[items] == 0).sum()) + index.empty[number],
                found=len(own),
                whole=sum(one.found >= WHOLE for one in own),
                answered=sum(one.answered is True for one in own),
                samples=sum(one.samples for one in own),
            )
        )
    return tuple(overviews)
