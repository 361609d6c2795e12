"""Stores of a few hundred made-up texts, searched for duplicates in this process or by workers."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.dedupe.graph import SearchGraph
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.dedupe.task import write_duplicates
from winnow.pipelines.store.generations import Store, create_or_open, open_store
from winnow.pipelines.store.global_keys import GlobalKey
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.tables import TableWriter, read_batches
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.store_stages import run_all
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import StoreRecord

RECIPE = """
version: 1
store: {{path: store, seed: 7, shard_rows: {shard_rows}, task_bytes: 128 KiB}}
sources:
  pages: {{root: pages, files: ["*.jsonl"], class: web, key: id}}
{sources}limits: {limits}
dedupe: {dedupe}
shuffle: {shuffle}
"""
NEAR = "{near: {min_similarity: 0.75}}"

Row = Mapping[str, object]


def write_pages(folder: Path, files: Mapping[str, Sequence[Row]]) -> None:
    """Files of lines, each with `id` and `text`."""
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / "pages" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def search(
    folder: Path,
    dedupe: str = NEAR,
    *,
    shard_rows: int = 64,
    workers: int = 1,
    sources: str = "",
    limits: str = "{}",
    shuffle: str = "auto",
) -> Outcome:
    """Everything that the recipe asks for, over what the folder holds."""
    recipe = folder / "recipe.yaml"
    settings = {"dedupe": dedupe, "shard_rows": shard_rows, "sources": sources, "limits": limits, "shuffle": shuffle}
    recipe.write_text(RECIPE.format(**settings))
    return run_all(bind(load_recipe(recipe)), Engine("local", workers), Console(quiet=True))


def layer(folder: Path, kind: str) -> dict[str, Row]:
    """What the layer says of each row, by the key that its source gave it; ids by these keys too."""
    store = open_store(open_location(str(folder / "store")))
    generation = store.require_latest()
    tables = {
        name: pa.Table.from_batches([batch for row in store.manifest(generation, name) for batch in store.batches(row)])
        for name in ("samples", f"dedupe.{kind}")
    }
    samples, found = tables["samples"], tables[f"dedupe.{kind}"]
    keys = [place["record"] for place in samples["source"].to_pylist()]
    key_of = dict(zip(samples["id"].to_pylist(), keys, strict=True))
    rows: dict[str, Row] = {}
    for key, row in zip(keys, found.to_pylist(), strict=True):
        rows[key] = {**row, **{name: key_of.get(row[name]) for name in ("cluster", "matched")}}
    return rows


def search_items(
    folder: Path,
    search: Callable[[Store, str], Search],
    signatures: pa.Schema,
    rows: Mapping[str, Row],
    shards: int,
    workers: int = 1,
) -> dict[str, dict[str, Any]]:
    """What the layer of one kind says of each row, given the signatures of its one item by its name.

    Args:
        folder: Where the store is made.
        search: The search for the kind, given the store and the list of its shards.
        signatures: The columns of the kind's layer of signatures.
        rows: What that layer says of each row.
        shards: Rows are dealt out to so many.
        workers: Processes.
    """
    store = create_or_open(
        open_location(str(folder / "store")), StoreRecord("store", 7, 64, 1 << 20, 16, 1 << 20, 1 << 20)
    )

    def put(name: str, schema: pa.Schema, lines: list[Row]) -> str:
        table = TableWriter(store.objects, schema)
        table.write(pa.RecordBatch.from_pylist([dict(line) for line in lines], schema=schema))
        return table.finish(lambda content: f"{name}.{content}.parquet").path

    names = list(rows)
    ((kind, asked),) = search(store, "").kinds.items()
    covered = []
    for shard in range(shards):
        mine = names[shard::shards]
        objects = {
            "samples": put(f"samples-{shard}", _IDS, [{"id": id_of(name)} for name in mine]),
            asked.layer: put(f"signatures-{shard}", signatures, [rows[name] for name in mine]),
        }
        covered.append(CoveredShard(f"{shard:04d}", "items", len(mine), objects))
    searching = search(store, put_shards(store.objects, covered))
    Engine("local", workers).run(SearchGraph(searching, len(rows), total_items={kind: 400}).build)
    found: dict[str, dict[str, Any]] = {}
    for shard in range(shards):
        written = write_duplicates(searching, kind, shard, GlobalKey("settings", "covered"))
        there = [row for batch in read_batches(store.objects, written.part.object.path) for row in batch.to_pylist()]
        found |= dict(zip(names[shard::shards], there, strict=True))
    return found


_IDS = pa.schema([pa.field("id", pa.binary(16))])


def id_of(name: str) -> bytes:
    """An id with room for the number of an item."""
    return hashlib.blake2b(name.encode(), digest_size=15).digest() + b"\0"


def item_clusters(found: Mapping[str, Mapping[str, Any]]) -> set[frozenset[str]]:
    """The clusters of two or more rows with one item each."""
    members: dict[bytes, set[str]] = {}
    for name, row in found.items():
        if row["status"] == "ok":
            members.setdefault(row["cluster"][0], set()).add(name)
    return {frozenset(one) for one in members.values()}


def clusters(folder: Path, kind: str = "near") -> set[frozenset[str]]:
    """The clusters of two or more rows."""
    members: dict[object, set[str]] = {}
    for key, row in layer(folder, kind).items():
        if row["status"] == "ok":
            members.setdefault(row["cluster"], set()).add(key)
    return {frozenset(found) for found in members.values()}


def prose(number: int, words: int = 300) -> list[str]:
    """Words that no other number shares five of in a row."""
    drawn = random.Random(number)
    return [f"w{drawn.randrange(20_000)}" for _ in range(words)]


def changed(words: Sequence[str], share: float, number: int) -> list[str]:
    """The same with a share of its words replaced, at places far from each other."""
    drawn = random.Random(number)
    found = list(words)
    for place in range(0, len(found), max(1, round(1 / share))):
        found[place] = f"x{drawn.randrange(20_000)}"
    return found
