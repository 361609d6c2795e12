"""Stores of thousands of tiny shards: what a command's bookkeeping is measured on.

winnow itself makes a seed of a few shards, layers, mixture and export included. A store of any size has the same
layers: each shard has the texts of one of the seed's, with samples of its own (ids and paths) and the seed's layers
under its own names, and commits as workers would have put them. The first `winnow run` publishes and exports it.
"""

import gzip
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.inputs.pages import CACHE, warc_record
from benchmarks.measuring.reporting import measure
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
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
from winnow.schemas.statistics import SAMPLES_STATISTICS, by_layer_from_json

SEEDS = 8
ROWS = 4  # of a shard
WRITERS = ("winnow/pipelines/store", "winnow/schemas/records.py", "benchmarks/inputs/tiny_shards.py")
"""The code that says what lies where in a store: stores are made anew when it changes."""

RECIPE = """
version: 1
store: {{path: {store}, task_bytes: {task_bytes}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{fast: {{}}}}
text: extract.fast.text
annotate: [text.language, text.gopher, text.minhash{more}]
keep:
  - {{drop: text.gopher.words < 3, reason: short, when_null: drop}}
mix: {{unit: tokens, tokenizer: bytes}}
export: [{{jsonl: {{path: {out}}}}}]
"""

SENTENCES = (
    "The river rises in the hills to the north and meets the sea below the old harbour.",
    "Nobody had counted the boats before the storm, and nobody could count them after it.",
    "Bread was baked on the square every morning except when the wind came from the east.",
    "A ferry leaves at seven, and the last one returns shortly before the lamps are lit.",
)


@dataclass(frozen=True)
class _Unsynced(LocalStore):
    """A store whose maker starts again after a crash: it need not wait for the disk."""

    def _settle(self, stream: object) -> None:
        """Does not wait."""


def write_recipe(folder: Path, store: str, out: Path, crawl: Path, more: str = "") -> Path:
    """A recipe for a store of tiny shards; `more` are further operators."""
    recipe = folder / "recipe.yaml"
    recipe.unlink(missing_ok=True)  # in a copied folder it may be a link to that of the original
    task_bytes = max(file.stat().st_size for file in _seed_files())
    recipe.write_text(RECIPE.format(store=store, root=crawl, out=out, task_bytes=task_bytes, more=more))
    return recipe


def cached_tiny_shards(shards: int) -> Path:
    """A folder with a store of so many shards, its `crawl` and its export `out`; made anew if the format changes."""
    seed = _cached_seed()
    folder = (CACHE / f"tiny-shards-{shards}").absolute()
    stamp = folder / "made-for"
    wanted = (seed / "made-for").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "crawl").mkdir(parents=True)
        sources = _seed_files()
        for number in range(shards):
            os.link(sources[number % SEEDS], folder / "crawl" / f"{number:06d}.warc.gz")
        recipe = write_recipe(folder, str(folder / "store"), folder / "out", folder / "crawl")
        _multiply(seed, folder, recipe)
        measure([sys.executable, "-m", "winnow", "run", str(recipe)])
        stamp.write_text(wanted)
    return folder


def last_id(shards: int) -> str:
    """The id of the first sample of the last shard."""
    number = shards - 1
    return sample_id("crawl", f"{number:06d}.warc.gz", f"urn:uuid:{number % SEEDS * ROWS:032x}").hex()


def _seed_files() -> list[Path]:
    """The archives of the seed, made once."""
    folder = (CACHE / "tiny-shards-seed" / "crawl").absolute()
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        for number in range(SEEDS):
            records = [_page(number, row) for row in range(ROWS)]
            content = b"".join(gzip.compress(record, mtime=0) for record in records)
            (unfinished / f"{number:06d}.warc.gz").write_bytes(content)
        unfinished.rename(folder)
    return sorted(folder.glob("*.warc.gz"))


def _page(number: int, row: int) -> bytes:
    day = number * ROWS + row
    lines = [f"<p>{SENTENCES[(row + line) % len(SENTENCES)]} It was day {day}.</p>" for line in range(6)]
    html = f"<html><head><title>Day {row}</title></head><body>{''.join(lines)}</body></html>".encode()
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
    return warc_record(b"response", day, b"https://day.example/%d" % day, body)


def _cached_seed() -> Path:
    """A store of the seed's shards that winnow made, mixture and export included."""
    files = _seed_files()
    folder = files[0].parent.parent
    stamp = folder / "made-for"
    recipe = write_recipe(folder, str(folder / "store"), folder / "out", folder / "crawl")
    files_of = (
        path for place in WRITERS for path in sorted([Path(place), *Path(place).rglob("*.py")]) if path.is_file()
    )
    wanted = digest(*(path.read_text() for path in files_of)).hex()
    if not stamp.exists() or stamp.read_text() != wanted:
        for name in ("store", "out"):
            shutil.rmtree(folder / name, ignore_errors=True)
        measure([sys.executable, "-m", "winnow", "run", str(recipe)])
        stamp.write_text(wanted)
    return folder


@dataclass(frozen=True)
class _Seed:
    """One shard of the seed, with all that a copy of it needs."""

    store: LocalStore
    task: TaskCommit
    samples: pa.Table
    layers: tuple[LayersCommit, ...]


def _multiply(seed: Path, folder: Path, recipe: Path) -> None:
    bound = bind(load_recipe(recipe))
    store = create_or_open(_Unsynced(folder / "store"), store_record(bound.config))
    context = bound.ingest(store)
    plans = plan_sources(context, {source.name: source.files for source in bound.config.sources})
    freeze_plans(context, plans)
    seeds = _read_seeds(LocalStore(seed / "store", owner=open_store_at(seed / "store").record.identity), plans[0].key)
    for task in plans[0].intake.tasks:
        (file,) = task.files
        _copy(store, seeds[int(file.part.path[:6]) % SEEDS], task.name, file.part.path)


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
        counted = by_layer_from_json(seed.store.read(statistics), [part.layer for part in parts])
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


def _own(samples: pa.Table, path: str) -> pa.Table:
    """The samples as if they had been read from this file."""
    table = samples.combine_chunks()
    source = table["source"].chunk(0)
    parts: Mapping[str, pa.Array] = {
        field.name: pa.repeat(path, len(table)) if field.name == "path" else pc.struct_field(source, field.name)
        for field in source.type
    }
    moved = pa.StructArray.from_arrays(list(parts.values()), fields=list(source.type))
    ids = [sample_id("crawl", path, record) for record in parts["record"].to_pylist()]
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
