"""Statistics of a layer over all shards: merged once, found again, and merged again where that is needed."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
import pytest

from tests.pipelines.rules.stores import RECORD, Shard, make_store
from tests.pipelines.store.publishing import publish_commits
from winnow.pipelines.query import statistics_tasks
from winnow.pipelines.query.layer_statistics import statistics_by_key
from winnow.pipelines.running.job_tasks import HERE
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.integrity.sealed import read_record
from winnow.pipelines.store.layers import LayerWriter, WrittenLayer, commit_layers, put_statistics
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.records import Generation, LayersCommit, ShardRecord, TaskCommit
from winnow.schemas.statistics import layer_spec

WORDS = pa.table({"words": pa.array([1, 2, 3, 4], pa.int64())})


def made() -> tuple[MemoryStore, Store, Generation]:
    objects = MemoryStore(uuid4().hex)
    shards = {name: Shard(source, 4, {"text.some": WORDS}) for name, source in (("a", "x"), ("b", "y"), ("c", "x"))}
    return objects, *make_store(objects, shards, key=lambda layer, source: f"{layer}-{source}")


def counted(store: Store, generation: Generation, layer: str = "text.some") -> dict[tuple[str, ...], bytes]:
    return {sources: one.to_json() for sources, one in statistics_by_key(store, generation, layer, {}, lambda: HERE)}


def test_each_key_is_merged_once_and_then_found_without_its_shards() -> None:
    objects, store, generation = made()
    first = counted(store, generation)
    assert [sources for sources, _ in statistics_by_key(store, generation, "text.some", {}, lambda: HERE)] == [
        ("x",),
        ("y",),
    ]
    assert [one.rows for _, one in statistics_by_key(store, generation, "text.some", {}, lambda: HERE)] == [8, 4]
    for row in store.manifest(generation, "text.some"):
        objects.delete(row.object)
    assert counted(store, generation) == first


def test_merged_statistics_that_are_damaged_are_merged_again() -> None:
    objects, store, generation = made()
    first = counted(store, generation)
    merged = [info.path for info in objects.list("stats/text.some/merged-")]
    assert len(merged) == 2
    for path in merged:
        objects.put(path, objects.read(path).replace(b"8", b"9"))
    assert counted(store, generation) == first


def test_gc_keeps_what_was_merged_of_kept_generations_and_nothing_else() -> None:
    objects, store, generation = made()
    counted(store, generation)
    objects.put(f"{layout.merged_statistics('text.some', 'k', 'of other values')}0.json", b"{}")
    collect_garbage(store)
    assert len(list(objects.list("stats/text.some/merged-"))) == 2


@pytest.mark.parametrize("lost", [None, 0, 3])
def test_tasks_merge_the_same_bytes_as_the_driver_whatever_file_is_lost(
    monkeypatch: pytest.MonkeyPatch, lost: int | None
) -> None:
    shards = {name: Shard("x", 4, {"text.some": WORDS}) for name in "abcde"}
    monkeypatch.setattr(statistics_tasks, "GROUP", 2)
    here = counted(*make_store(MemoryStore(uuid4().hex), shards))
    objects = MemoryStore(uuid4().hex)
    store, generation = make_store(objects, shards)
    if lost is not None:
        objects.delete(store.manifest(generation, "text.some")[lost].statistics)
    monkeypatch.setattr(statistics_tasks, "MOST_FILES_HERE", 0)
    assert counted(store, generation) == here
    assert [json.loads(raw)["rows"] for raw in here.values()] == [20]


@dataclass(frozen=True)
class Counting(MemoryStore):
    """Objects that know how often each was read."""

    reads: Counter[str] = field(default_factory=Counter, compare=False)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads[path] += 1
        return super().read(path, offset, length)


def written(store: Store, layer: str, shard: str, number: int) -> WrittenLayer:
    """A table of one row, as a task writes it."""
    schema = pa.schema([pa.field("words", pa.int64())])
    with LayerWriter(store, schema, layer_spec(layer, schema)) as writer:
        writer.write(pa.RecordBatch.from_arrays([pa.array([number])], schema=schema))
        return writer.finish(layer, "k", shard)


Made = tuple[Counting, Store, Generation]


@pytest.fixture
def store_of() -> Made:
    """Two shards, in each of which one task wrote two layers."""
    return made_of([("text.a", "text.b")], [("text.a", "text.b")])


def made_of(*written_together: Sequence[tuple[str, ...]]) -> Made:
    """A store with a shard for each of the arguments, which say which of two layers each task wrote."""
    objects = Counting(uuid4().hex)
    store = create_or_open(objects, RECORD)
    tasks: list[TaskCommit] = []
    commits: dict[str, list[LayersCommit]] = {"text.a": [], "text.b": []}
    for number, sets in enumerate(written_together):
        shard = ("one", "two", "zero")[number]
        samples = written(store, layout.SAMPLES, shard, number)
        record = ShardRecord(shard, samples.part.object, put_statistics(store, shard, [samples]))
        tasks.append(TaskCommit(shard, "k", "crawl", (), (record,), None, None, 1, 1, {}, {}, 9, "env"))
        for layers in sets:
            some = [written(store, layer, shard, number + (layer == "text.b")) for layer in layers]
            commit_layers(store, shard, "crawl", record.object.path, some)
            name = layout.set_name(dict.fromkeys(layers, "k"))
            for layer in layers:
                commits[layer].append(read_record(store.objects, LayersCommit, layout.layer_commit(name, shard)))
    generation, _ = publish_commits(store, tasks, commits)
    return objects, store, generation


def highest(store: Store, generation: Generation, layer: str) -> object:
    ((_, found),) = statistics_by_key(store, generation, layer, {}, lambda: HERE)
    return found.rows, found.columns["words"].to_json()


def test_layers_that_a_task_wrote_together_are_merged_together(store_of: Made) -> None:
    objects, store, generation = store_of
    files = [info.path for info in objects.list("stats/shards/")]
    assert len(files) == 4, "one of each shard's samples, one of its layers"
    objects.reads.clear()
    both = [highest(store, generation, layer) for layer in ("text.a", "text.b")]
    assert both[0] != both[1]
    assert {path: objects.reads[path] for path in files if objects.reads[path]} == {
        row.statistics: 1 for row in store.manifest(generation, "text.a")
    }


def test_layers_most_of_whose_files_are_the_same_are_merged_together() -> None:
    """As after a purge, which leaves files of its own to what it has rewritten."""
    together = ("text.a", "text.b")
    alone = [("text.a",), ("text.b",)]
    _, apart, of_apart = made_of(alone, alone, alone)
    objects, store, generation = made_of([together], [together], alone)
    objects.reads.clear()
    for layer in together:
        assert highest(store, generation, layer) == highest(apart, of_apart, layer)
    read = {path: times for path, times in objects.reads.items() if path.startswith("stats/shards/")}
    assert list(read.values()) == [1, 1, 1, 1]


def test_a_lost_file_of_statistics_is_counted_again_for_all_its_layers(store_of: Made) -> None:
    objects, store, generation = store_of
    expected = [highest(store, generation, layer) for layer in ("text.a", "text.b")]
    before = {info.path: objects.read(info.path) for info in objects.list("stats/")}
    for path in before:
        objects.delete(path)
    assert [highest(store, generation, layer) for layer in ("text.a", "text.b")] == expected
    lost = {row.statistics for row in store.manifest(generation, layout.SAMPLES)}
    assert {info.path: objects.read(info.path) for info in objects.list("stats/")} == {
        path: raw for path, raw in before.items() if path not in lost
    }, "the samples were not asked for"
