"""Statistics of a layer over all shards: merged once, found again, and merged again where that is needed."""

from collections import Counter
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
import pytest

from tests.pipelines.rules.stores import RECORD, Shard, make_store
from tests.pipelines.store.publishing import publish_commits
from winnow.pipelines.query.layer_statistics import statistics_by_key
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
    return {sources: one.to_json() for sources, one in statistics_by_key(store, generation, layer, {})}


def test_each_key_is_merged_once_and_then_found_without_its_shards() -> None:
    objects, store, generation = made()
    first = counted(store, generation)
    assert [sources for sources, _ in statistics_by_key(store, generation, "text.some", {})] == [("x",), ("y",)]
    assert [one.rows for _, one in statistics_by_key(store, generation, "text.some", {})] == [8, 4]
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
    objects = Counting(uuid4().hex)
    store = create_or_open(objects, RECORD)
    tasks, commits = [], []
    for number, shard in enumerate(("one", "two")):
        samples = written(store, layout.SAMPLES, shard, number)
        record = ShardRecord(shard, samples.part.object, put_statistics(store, shard, [samples]))
        tasks.append(TaskCommit(shard, "k", "crawl", (), (record,), None, None, 1, 1, {}, {}, 9, "env"))
        both = [written(store, layer, shard, number + at) for at, layer in enumerate(("text.a", "text.b"))]
        commit_layers(store, shard, "crawl", record.object.path, both)
        name = layout.set_name({"text.a": "k", "text.b": "k"})
        commits.append(read_record(store.objects, LayersCommit, layout.layer_commit(name, shard)))
    generation, _ = publish_commits(store, tasks, {"text.a": commits, "text.b": commits})
    return objects, store, generation


def highest(store: Store, generation: Generation, layer: str) -> object:
    ((_, found),) = statistics_by_key(store, generation, layer, {})
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
