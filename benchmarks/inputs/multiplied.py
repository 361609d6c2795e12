"""Stores of many shards from a seed of a few, which winnow itself has made.

Each shard has the texts of one of the seed's, with samples of its own (ids and paths), the seed's layers under its own
names, and commits as workers would have put them.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.ingest.planning.context import INGEST_VERSION
from winnow.pipelines.ingest.planning.stage import freeze_plans, plan_sources
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_tasks, load_task_commits
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.integrity.sealed import put_record_if_absent, read_record
from winnow.pipelines.store.layers import LayerWriter, WrittenLayer, commit_layers, put_statistics
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.tables import read_table
from winnow.schemas.identity import digest, sample_id
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import LayerPart, LayersCommit, LayerSet, ShardRecord, TaskCommit
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics import SAMPLES_STATISTICS, ShardStatistics, by_layer_from_json

WRITERS = (Path("winnow/pipelines/store"), Path("winnow/schemas/records.py"), Path(__file__))
"""The code that says what lies where in a store: stores are made anew when it changes."""


def writers_stamp(*more: Path) -> str:
    """Return what changes when the code changes that such stores are made by."""
    places = (*WRITERS, *more)
    files = (path for place in places for path in sorted([place, *place.rglob("*.py")]) if path.is_file())
    return digest(*(path.read_text() for path in files), str(INGEST_VERSION)).hex()


@dataclass(frozen=True)
class _Unsynced(LocalStore):
    """A store whose maker starts again after a crash: it need not wait for the disk."""

    def _settle(self, stream: object) -> None:
        """Does not wait."""


@dataclass(frozen=True)
class _Seed:
    """One shard of the seed, with all that a copy of it needs."""

    store: LocalStore
    task: TaskCommit
    samples: pa.Table
    layers: tuple[LayersCommit, ...]


def multiply(seed: Path, made: Path, recipe: Path) -> None:
    """Make the store of a recipe whose source has files that are copies of the seed's, named by numbers, in turn."""
    bound = bind(load_recipe(recipe))
    store = create_or_open(_Unsynced(made), store_record(bound.config))
    context = bound.ingest(store)
    plans = plan_sources(context, {source.name: source.files for source in bound.config.sources})
    freeze_plans(context, plans)
    seeds = _read_seeds(LocalStore(seed, owner=open_store_at(seed).record.identity), plans[0].key)
    for task in plans[0].intake.tasks:
        (file,) = task.files
        _copy(store, seeds[int(Path(file.part.path).name.split(".")[0]) % len(seeds)], task.name, file.part.path)


def _read_seeds(store: LocalStore, key: str) -> list[_Seed]:
    names = sorted(committed_tasks(store, key))
    tasks = sorted(load_task_commits(store, key, names), key=lambda task: task.inputs[0].path)
    layers: dict[str, list[LayersCommit]] = {}
    for info in store.list(layout.LAYER_COMMITS):
        commit = read_record(store, LayersCommit, info.path)
        layers.setdefault(commit.shard, []).append(commit)
    return [
        _Seed(store, task, read_table(store, shard.object.path), tuple(layers[shard.shard]))
        for task in tasks
        for shard in task.shards
    ]


def _copy(store: Store, seed: _Seed, task: str, path: str) -> None:
    (before,) = seed.task.shards
    shard = before.shard.replace(seed.task.task, task)
    with LayerWriter(store, SAMPLES, SAMPLES_STATISTICS) as writer:
        for batch in _own(seed.samples, path).to_batches():
            writer.write(batch)
        samples = writer.finish(layout.SAMPLES, seed.task.key, shard)

    def copied(parts: Sequence[LayerPart], statistics: str) -> list[WrittenLayer]:
        counted = _counted(seed.store, statistics, tuple(part.layer for part in parts))
        return [
            WrittenLayer(_linked(seed.store, store.objects, part, before.shard, shard), counted[part.layer])
            for part in parts
        ]

    for commit in seed.layers:
        layers = {part.layer: part.key for part in commit.layers}
        put_record_if_absent(store.objects, layout.layer_set(layout.set_name(layers)), LayerSet(layers))
        made = copied(commit.layers, commit.statistics)
        commit_layers(store, shard, commit.source, samples.part.object.path, made)
    texts = copied(before.layers, before.statistics)
    statistics = put_statistics(store, shard, [samples, *texts])
    parts = tuple(one.part for one in texts)
    shards = (ShardRecord(shard, samples.part.object, statistics, parts),)
    inputs = tuple(replace(part, path=path) for part in seed.task.inputs)
    committed = replace(seed.task, task=task, inputs=inputs, shards=shards)
    put_record_if_absent(store.objects, layout.task_commit(seed.task.key, task), committed)


@cache
def _counted(seed: LocalStore, statistics: str, layers: tuple[str, ...]) -> Mapping[str, ShardStatistics]:
    """The statistics of layers, which every copy of them has."""
    return by_layer_from_json(seed.read(statistics), layers)


def _own(samples: pa.Table, path: str) -> pa.Table:
    """The samples as if they had been read from this file."""
    table = samples.combine_chunks()
    source = table["source"].chunk(0)
    parts: Mapping[str, pa.Array] = {
        field.name: pa.repeat(path, len(table)) if field.name == "path" else pc.struct_field(source, field.name)
        for field in source.type
    }
    moved = pa.StructArray.from_arrays(list(parts.values()), fields=list(source.type))
    names = zip(parts["name"].to_pylist(), parts["record"].to_pylist(), strict=True)
    ids = [sample_id(source, path, record) for source, record in names]
    table = table.set_column(table.schema.get_field_index("source"), SAMPLES.field("source"), moved)
    return table.set_column(table.schema.get_field_index("id"), SAMPLES.field("id"), pa.array(ids, pa.binary(16)))


def _linked(seed: LocalStore, objects: ObjectStore, part: LayerPart, before: str, shard: str) -> LayerPart:
    """The same rows, under the names of another shard."""
    return replace(part, object=replace(part.object, path=_link(seed, objects, part.object.path, before, shard)))


def _link(seed: LocalStore, objects: ObjectStore, path: str, before: str, shard: str) -> str:
    assert isinstance(objects, LocalStore)
    renamed = path.replace(before, shard)
    target = objects.folder / renamed
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(seed.folder / path, target)
    return renamed
