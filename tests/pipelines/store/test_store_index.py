"""What a command knows of a store: which layers shards have, from a generation and from commits of several tasks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.pipelines.store.commits import commits_of
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.integrity.sealed import put_record_if_absent, read_record
from winnow.pipelines.store.layers import WrittenLayer, commit_layers
from winnow.pipelines.store.leases.command_lease import writing_lease
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.records import LayerPart, LayersCommit, ObjectRecord, ShardRecord, StoreRecord, TaskCommit
from winnow.schemas.statistics import ShardStatistics, StatisticsSpec

RECORD = StoreRecord("s", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20)
KEYS = {"a": "key-a", "b": "key-b"}
SAMPLES = {"one": "samples/one.0.parquet", "two": "samples/two.0.parquet"}


@dataclass(frozen=True)
class Counting(MemoryStore):
    """Objects that know how often each was read."""

    reads: Counter[str] = field(default_factory=Counter, compare=False)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads[path] += 1
        return super().read(path, offset, length)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Store:
    return create_or_open(Counting(request.node.name), RECORD)


def written(store: Store, layer: str, key: str, shard: str) -> WrittenLayer:
    path = layout.layer_object(layer, key, shard, "0")
    store.objects.put(path, b"rows")
    return WrittenLayer(LayerPart(layer, key, ObjectRecord(path, 1, 4, "values")), ShardStatistics(StatisticsSpec(())))


def write(store: Store, missing: Mapping[str, Mapping[str, str]], samples: Mapping[str, str] = SAMPLES) -> None:
    """What tasks do that write these layers of shards."""
    for shard, layers in missing.items():
        commit_layers(store, shard, "crawl", samples[shard], [written(store, *one, shard) for one in layers.items()])


def held_now(store: Store) -> StoreIndex:
    """What another command learns."""
    return StoreIndex(store.objects, None)


def missing(held: StoreIndex, layer: str, samples: Mapping[str, str] = SAMPLES) -> set[str]:
    return samples.keys() - held.find_layer(layer, KEYS[layer], samples).by_shard.keys()


def test_a_task_has_one_commit_for_all_its_layers_and_each_is_found_by_its_key(store: Store) -> None:
    paths = held_now(store).begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    assert commits_of(store.objects, "a") == commits_of(store.objects, "b") == sorted(paths.values())
    held = held_now(store)
    assert [missing(held, layer) for layer in KEYS] == [set(), set()]
    assert list(held.find_layer("a", "another key", SAMPLES)) == []


def test_commits_are_read_once_whatever_is_asked_of_them(store: Store) -> None:
    held_now(store).begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    held = held_now(store)
    for _ in range(2):
        for layer in KEYS:
            assert missing(held, layer) == set()
            assert missing(held, layer, SAMPLES | {"three": "samples/three.0.parquet"}) == {"three"}
    assert isinstance(store.objects, Counting)
    assert {store.objects.reads[path] for path in commits_of(store.objects, "a")} == {1}


def test_commits_that_are_handed_over_are_not_read(store: Store) -> None:
    held = held_now(store)
    assert missing(held, "a") == SAMPLES.keys()
    paths = held.begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    for path in paths.values():
        held.note(read_record(store.objects, LayersCommit, path))
    assert isinstance(store.objects, Counting)
    store.objects.reads.clear()
    assert [missing(held, layer) for layer in KEYS] == [set(), set()]
    assert not store.objects.reads


def test_recipes_that_write_a_layer_together_with_others_or_alone_share_it(store: Store) -> None:
    held_now(store).begin({"one": KEYS})
    write(store, {"one": KEYS})  # a run of both layers, which was stopped
    held = held_now(store)
    assert missing(held, "a") == {"two"}
    held.begin({"two": {"a": "key-a"}})
    write(store, {"two": {"a": "key-a"}})  # a recipe with the first alone
    held = held_now(store)
    assert missing(held, "a") == set()
    assert missing(held, "b") == {"two"}


def test_a_layer_whose_object_is_gone_is_made_again_and_the_others_of_its_commit_hold(store: Store) -> None:
    held_now(store).begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    store.objects.delete(layout.layer_object("a", "key-a", "one", "0"))
    held = held_now(store)
    assert missing(held, "a") == {"one"}
    assert missing(held, "b") == set()
    held.begin({"one": {"a": "key-a"}})
    write(store, {"one": {"a": "key-a"}})
    for again in (held, held_now(store)):
        assert [missing(again, layer) for layer in KEYS] == [set(), set()]


def test_what_was_made_of_other_samples_does_not_count_and_makes_way(store: Store) -> None:
    held_now(store).begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    now = SAMPLES | {"one": "samples/one.1.parquet"}
    held = held_now(store)
    assert missing(held, "a", now) == missing(held, "b", now) == {"one"}
    assert len(commits_of(store.objects, "a")) == 2, "looking withdraws nothing"
    held.begin({"one": KEYS})
    assert len(commits_of(store.objects, "a")) == 1
    write(store, {"one": KEYS}, now)
    assert missing(held, "a", now) == missing(held_now(store), "b", now) == set()


def test_commits_are_found_again_whose_set_was_lost(store: Store) -> None:
    name = layout.set_name(KEYS)
    held_now(store).begin({"one": KEYS})
    write(store, {"one": KEYS})
    store.objects.delete(layout.layer_set(name))
    held = held_now(store)
    assert missing(held, "a") == SAMPLES.keys(), "nobody knows of what these are"
    held.begin(dict.fromkeys(SAMPLES, KEYS))
    write(store, dict.fromkeys(SAMPLES, KEYS))
    assert missing(held, "a") == missing(held_now(store), "b") == set()


def test_texts_of_an_ingest_task_are_in_its_commit(store: Store) -> None:
    samples = ObjectRecord(SAMPLES["one"], 1, 4, "values")
    shard = ShardRecord("one", samples, "stats/none.json", (written(store, "a", "key-a", "one").part,))
    task = TaskCommit("task", "key", "crawl", (), (shard,), None, None, 1, 1, {}, {}, 9, "env")
    put_record_if_absent(store.objects, layout.task_commit("key", "task"), task)
    held = held_now(store)
    assert list(held.find_tasks("key", ["task", "other"])) == [task.without_layers]
    assert missing(held, "a") == {"two"}


def test_a_command_that_holds_the_lease_learns_of_its_store_once(store: Store) -> None:
    assert StoreIndex.of(store) is not StoreIndex.of(store)
    with writing_lease(store.objects):
        held = StoreIndex.of(store)
        with writing_lease(store.objects):
            assert StoreIndex.of(store) is held
    with writing_lease(store.objects):
        assert StoreIndex.of(store) is not held
