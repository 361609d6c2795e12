"""Statistics of a layer over all shards: merged once, found again, and merged again where that is needed."""

from uuid import uuid4

import pyarrow as pa

from tests.pipelines.rules.stores import Shard, make_store
from winnow.pipelines.query.layer_statistics import statistics_by_key
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.records import Generation

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
