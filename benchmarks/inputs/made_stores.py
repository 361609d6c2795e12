"""Stores of millions of made-up rows, with real objects, commits and manifests: what planning is timed on."""

import gzip
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.inputs.multiplied import Unsynced
from benchmarks.inputs.pages import CACHE
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.layers import WrittenLayer, put_statistics
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tables import rows_of_commit
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.publishing import Contents, publish_union
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.identity import digest, fingerprint_of
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import FORMAT_VERSION, LayerPart, LayersCommit, ObjectRecord, ShardRecord, TaskCommit
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics import ShardStatistics, layer_spec

SHARD_ROWS = 65_536
VARIANTS = 8  # shards of different content; the others are copies of theirs, under names of their own
LINKED_ROWS = (
    64  # of shards so small, those of one content are one file under many names: a hundred thousand are made soon
)

Maker: TypeAlias = Callable[[int, int], pa.Table]
"""A layer's table from a seed and a number of rows."""


def cached_store(
    name: str,
    rows: int,
    recipe_of: Callable[[Path], Recipe],
    makers: Mapping[str, Maker],
    shard_rows: int = SHARD_ROWS,
) -> Path:
    """The folder of a store of so many rows of one source, `crawl`; made anew when its format or a key changes.

    Args:
        name: The folder's.
        rows: How many.
        recipe_of: The recipe, whose store is the folder's `store` and whose source is its `crawl`.
        makers: Of each layer, what it holds; of samples if they are to be others than rows without texts.
        shard_rows: How many of them are in a shard.
    """
    folder = (CACHE / f"{name}-{rows}").absolute()
    (folder / "crawl").mkdir(parents=True, exist_ok=True)
    (folder / "crawl" / "none.warc.gz").write_bytes(gzip.compress(b""))  # a source has a file, if one without records
    recipe = recipe_of(folder)
    keys = _keys(recipe)
    stamp = folder / "made-for"
    wanted = fingerprint_of({**keys, "format": str(FORMAT_VERSION)})
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder / "store", ignore_errors=True)
        _make_store(recipe, rows, keys, makers, shard_rows)
        stamp.write_text(wanted)
    return folder


def _keys(recipe: Recipe) -> dict[str, str]:
    objects = open_location(recipe.store.path)
    bound = bind(recipe)
    store = Store(objects, store_record(recipe))
    found = expected_keys(bound.ingest(store), bound.operators, store, None)
    tokens = bound.tokens
    if tokens is not None:
        by_layer = {layer: keys["crawl"] for layer, keys in found.items()}
        found[TOKENS_LAYER] = {"crawl": tokens.key(by_layer)}
    return {layer: keys["crawl"] for layer, keys in found.items()}


def _make_store(
    recipe: Recipe, rows: int, keys: Mapping[str, str], layer_makers: Mapping[str, Maker], shard_rows: int
) -> None:
    store = create_or_open(Unsynced(Path(recipe.store.path)), store_record(recipe))
    makers: dict[str, Maker] = {layout.SAMPLES: made_samples, **layer_makers}
    tasks: list[TaskCommit] = []
    layers: dict[str, list[ManifestRow]] = {layer: [] for layer in layer_makers if layer != layout.SAMPLES}
    made: dict[tuple[int, int], dict[str, WrittenLayer]] = {}
    statistics: dict[tuple[int, int], str] = {}
    for number, start in enumerate(range(0, rows, shard_rows)):
        count = min(shard_rows, rows - start)
        shard = f"crawl-{number:05d}-0000"
        variant = (number % VARIANTS, count)
        if variant not in made:
            tables = {layer: make(*variant) for layer, make in makers.items()}
            made[variant] = {layer: _put(store, table, layer, keys[layer], shard) for layer, table in tables.items()}
            statistics[variant] = put_statistics(store, shard, list(made[variant].values()))
        counted = statistics[variant]  # one file for all shards of this content
        written = {
            layer: _copied(store, one.part.object, layer, keys[layer], shard) for layer, one in made[variant].items()
        }
        task = f"crawl-{number:05d}"
        samples = ShardRecord(shard, written[layout.SAMPLES], counted)
        tasks.append(
            TaskCommit(task, keys[layout.SAMPLES], "crawl", (), (samples,), None, None, count, count, {}, {}, 1, "none")
        )
        parts = tuple(LayerPart(layer, keys[layer], written[layer]) for layer in layers)
        commit = LayersCommit(shard, "crawl", samples.object.path, counted, parts, "none")
        for layer, row in rows_of_commit(commit).items():
            layers[layer].append(row)
    rows_of = {layer: ManifestRows.of(found) for layer, found in layers.items()}
    contents = Contents({"crawl": keys[layout.SAMPLES]}, TaskCommits.of(tasks), rows_of, {}, {})
    publish_union(store, "recipe.yaml", "benchmark", contents)


def _put(store: Store, table: pa.Table, layer: str, key: str, shard: str) -> WrittenLayer:
    batches = table.to_batches(max_chunksize=SHARD_ROWS // 4)
    with TableWriter(store.objects, table.schema) as writer:
        for batch in batches:
            writer.write(batch)
        written = writer.finish(lambda content: _name(layer, key, shard, content))
    return WrittenLayer(LayerPart(layer, key, written), ShardStatistics.of(layer_spec(layer, table.schema), batches))


def _copied(store: Store, made: ObjectRecord, layer: str, key: str, shard: str) -> ObjectRecord:
    content = made.path.split(".")[-2]
    path = _name(layer, key, shard, content)
    if path != made.path:
        assert isinstance(store.objects, Unsynced)
        if made.rows <= LINKED_ROWS:
            (store.objects.folder / path).unlink(missing_ok=True)
            os.link(store.objects.folder / made.path, store.objects.folder / path)
        elif not store.objects.exists(path):
            store.objects.put(path, store.objects.read(made.path))
    return ObjectRecord(path, made.rows, made.bytes, made.values)


def _name(layer: str, key: str, shard: str, content: str) -> str:
    if layer == layout.SAMPLES:
        return layout.samples_object(shard, content)
    return layout.layer_object(layer, key, shard, content)


def made_samples(seed: int, count: int) -> pa.Table:
    """Samples of one site, without texts."""
    chance = np.random.default_rng(seed)
    lengths = chance.integers(2_000, 60_000, count)
    source = pa.StructArray.from_arrays(
        [
            pa.repeat("crawl", count),
            pa.repeat("2024.warc.gz", count),
            pa.array([f"<urn:uuid:{number:032x}>" for number in range(count)]),
            pa.array(np.cumsum(lengths) - lengths),
            pa.array(lengths),
            pa.repeat("bytes", count),
            pa.array(np.zeros(count, np.int32)),
            pa.nulls(count, SAMPLES.field("source").type.field("fetched_at").type),
            pa.nulls(count, pa.string()),
        ],
        fields=list(SAMPLES.field("source").type),
    )
    empty = pa.array(np.zeros(count + 1, np.int32))
    columns = {
        "id": pa.array([digest(seed, number) for number in range(count)], pa.binary(16)),
        "source": source,
        "source_class": pa.repeat("web", count),
        "licence": pa.repeat("unknown", count),
        "url": pa.array([f"https://example.org/{seed}/{number}" for number in range(count)]),
        "domain": pa.repeat("example.org", count),
        "modality": pa.repeat("text", count),
        "mime": pa.repeat("text/html", count),
        "text": pa.nulls(count, pa.large_string()),
        "metadata": pa.repeat("{}", count),
    }
    for name in ("media", "captions"):
        kind = SAMPLES.field(name).type
        columns[name] = pa.ListArray.from_arrays(empty, pa.array([], kind.value_type), type=kind)
    return pa.table([columns[name] for name in SAMPLES.names], schema=SAMPLES)
