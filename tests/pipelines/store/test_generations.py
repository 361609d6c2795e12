from dataclasses import replace

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from tests.pipelines.store.publishing import commit_of, publish_commits
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import load_layer_commits
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, as_read, create_or_open, open_store
from winnow.pipelines.store.integrity.damage import DamagedError
from winnow.pipelines.store.integrity.sealed import put_record, put_record_if_absent
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import put_table
from winnow.schemas.errors import StoreError
from winnow.schemas.records import LayersCommit, LayerSet, ShardRecord, StoreRecord, TaskCommit, to_json

RECORD = StoreRecord("s", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20)


def made(store: Store, task: str, values: list[int], key: str = "k1") -> TaskCommit:
    """A committed task of one shard."""
    table = pa.table({"id": pa.array(values, pa.int64())})
    shard = f"{task}-0000"
    written = put_table(store.objects, table, lambda content: layout.samples_object(shard, content))
    statistics = layout.statistics_object(shard, "0")
    store.objects.put(statistics, b"{}")
    record = ShardRecord(shard, written, statistics)
    commit = TaskCommit(task, key, "crawl", (), (record,), None, None, len(values), len(values), {}, {}, 9, "env")
    put_record_if_absent(store.objects, layout.task_commit(key, task), commit)
    return commit


def layer_of(store: Store, task: TaskCommit, values: list[int], key: str) -> LayersCommit:
    """A committed layer of that shard."""
    shard = task.shards[0]
    table = pa.table({"length": pa.array(values, pa.int64())})
    written = put_table(
        store.objects, table, lambda content: layout.layer_object("extract.main", key, shard.shard, content)
    )
    commit = commit_of("extract.main", key, shard.shard, written, shard.object.path)
    store.objects.put(commit.statistics, b"{}")
    name = layout.set_name({"extract.main": key})
    put_record_if_absent(store.objects, layout.layer_set(name), LayerSet({"extract.main": key}))
    put_record_if_absent(store.objects, layout.layer_commit(name, shard.shard), commit)
    return commit


def test_a_store_is_made_once_and_its_fixed_settings_hold(objects: ObjectStore) -> None:
    create_or_open(objects, RECORD)
    assert open_store(objects).record == RECORD
    with assert_refused(StoreError, "seed 7", "says 8"):
        create_or_open(objects, replace(RECORD, seed=8))


def test_a_recipe_need_not_repeat_how_large_tasks_are(objects: ObjectStore) -> None:
    fixed = create_or_open(objects, replace(RECORD, task_bytes=4096))
    assert create_or_open(objects, replace(RECORD, task_bytes=None)).record == fixed.record
    with assert_refused(StoreError, "task_bytes", "4096", "says 8192"):
        create_or_open(objects, replace(RECORD, task_bytes=8192))
    other = MemoryStore("other")
    create_or_open(other, replace(RECORD, task_bytes=None))
    with assert_refused(StoreError, "task_bytes", "says 8192", "task_"):
        create_or_open(other, replace(RECORD, task_bytes=8192))


def test_a_folder_without_a_store_is_a_clear_error(objects: ObjectStore) -> None:
    with pytest.raises(StoreError, match="no store here"):
        open_store(objects)


def test_a_store_of_another_format_is_refused(objects: ObjectStore) -> None:
    put_record(objects, layout.STORE_RECORD, replace(RECORD, format_version=99))
    with assert_refused(StoreError, "format 99", "format 6", "update winnow"):
        open_store(objects)


def test_a_store_from_before_checksums_is_refused_in_one_line(objects: ObjectStore) -> None:
    objects.put(layout.STORE_RECORD, to_json(replace(RECORD, format_version=1)))
    with assert_refused(StoreError, "format 1", "'winnow ingest RECIPE'"):
        open_store(objects)


def test_generations_of_a_store_with_other_settings_are_refused(objects: ObjectStore) -> None:
    """As when another store's `store.json` takes the place of this one's."""
    store = create_or_open(objects, RECORD)
    publish_commits(store, [made(store, "crawl-a-00000", [1])], {})
    put_record(objects, layout.STORE_RECORD, replace(RECORD, seed=8))
    with assert_refused(DamagedError, "generations/00000001.json"):
        open_store(objects).require_latest()


def test_generations_follow_each_other_and_pin_what_they_name(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    one = made(store, "crawl-a-00000", [1, 2])
    first, new = publish_commits(store, [one], {"extract.main": [layer_of(store, one, [5, 6], "x")]})
    assert (first.number, first.parent, new) == (1, 0, True)
    second, _ = publish_commits(store, [one, made(store, "crawl-b-00000", [3])], {})
    assert (second.number, second.parent) == (2, 1)
    assert first.tree_hash != second.tree_hash
    assert [row.rows for row in store.manifest(store.generation(1), "samples")] == [2]
    assert [row.rows for row in store.manifest(store.generation(2), "samples")] == [2, 1]
    with assert_refused(StoreError, "'extract.main'", "2 covers", "1 of 2"):
        store.manifest(second, "extract.main")


def test_the_same_state_is_not_published_twice(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    one = made(store, "crawl-a-00000", [1])
    publish_commits(store, [one], {})
    same, new = publish_commits(store, [one], {})
    assert (same.number, new) == (1, False)


def test_a_late_writer_of_another_config_changes_nothing(objects: ObjectStore) -> None:
    """It finishes after the rerun: its commits are under a key that no generation names."""
    store = create_or_open(objects, RECORD)
    one = made(store, "crawl-a-00000", [1])
    current, _ = publish_commits(store, [one], {"extract.main": [layer_of(store, one, [8], "new")]})
    before = store.objects.read(layout.generation(current.number))
    layer_of(store, one, [3], "old")
    made(store, "crawl-a-00000", [99], key="k0")
    assert store.latest() == current
    assert store.objects.read(layout.generation(current.number)) == before
    zombie = replace(store.generation_record(current.number), recipe="zombie")
    assert not store.publish(zombie), "nor can it take the number that it saw as next"
    assert store.latest() == current
    again, new = publish_commits(store, [one], {"extract.main": [layer_of(store, one, [8], "new")]})
    assert (again, new) == (current, False)


def test_a_task_that_does_not_balance_is_never_published(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    short = replace(made(store, "crawl-a-00000", [1, 2]), records=3)
    with pytest.raises(StoreError, match="does not balance"):
        publish_commits(store, [short], {})


def test_gc_keeps_what_the_last_generations_name_and_nothing_else(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    tasks = [made(store, "crawl-a-00000", [1])]
    for number, key in enumerate(("x", "y", "z")):
        publish_commits(store, tasks, {"extract.main": [layer_of(store, tasks[0], [number], key)]})
    garbage = store.objects.put_if_absent("samples/stray.0.parquet", b"a late writer's")
    assert garbage
    would = collect_garbage(store, keep=2, dry_run=True)
    assert store.generation_numbers() == [1, 2, 3]
    gone = collect_garbage(store, keep=2)
    assert (gone.generations, gone.commits) == (would.generations, would.commits) == (1, 4), (
        "generations hold what commits say"
    )
    assert store.generation_numbers() == [2, 3]
    for number in (2, 3):
        for layer in ("samples", "extract.main"):
            for row in store.manifest(store.generation(number), layer):
                assert sum(batch.num_rows for batch in store.batches(row)) == row.rows
    assert not store.objects.exists("samples/stray.0.parquet")
    assert collect_garbage(store, keep=2).objects == 0


def test_recipes_read_their_own_keys_side_by_side(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    tasks = [made(store, "crawl-a-00000", [1])]
    mine, _ = publish_commits(store, tasks, {"extract.main": [layer_of(store, tasks[0], [1], "x")]}, "mine.yaml")
    theirs, new = publish_commits(store, tasks, {"extract.main": [layer_of(store, tasks[0], [2], "y")]}, "theirs.yaml")
    assert new
    record = store.require_record()
    for generation, recipe in ((mine, "mine.yaml"), (theirs, "theirs.yaml")):
        now = as_read(record, record.recipes[recipe].layers)
        assert now.tree_hash == generation.tree_hash
        assert store.manifest(now, "extract.main") == store.manifest(generation, "extract.main")
    commits = load_layer_commits(store.objects, layout.set_name({"extract.main": "x"}), [tasks[0].shards[0].shard])
    again, new = publish_commits(store, tasks, {"extract.main": list(commits)}, "mine.yaml")
    assert (again.number, new) == (2, False), "a recipe that wrote nothing publishes nothing"
    collect_garbage(store, keep=1)
    assert [len(store.manifest(as_read(record, one.layers), "extract.main")) for one in record.recipes.values()] == [
        1,
        1,
    ]


def test_a_publication_that_lacks_a_layer_takes_none_away(objects: ObjectStore) -> None:
    """As an export does, which has no layer of duplicates in its hands."""
    store = create_or_open(objects, RECORD)
    one = made(store, "crawl-a-00000", [1, 2])
    first, _ = publish_commits(store, [one], {"extract.main": [layer_of(store, one, [5, 6], "x")]})
    same, new = publish_commits(store, [one], {})
    assert (same, new) == (first, False)


def test_a_key_that_no_recipe_reads_any_more_goes_with_the_next_generation(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    one = made(store, "crawl-a-00000", [1])
    for key in ("x", "y"):
        publish_commits(store, [one], {"extract.main": [layer_of(store, one, [1], key)]})
    assert [sorted(store.generation_record(number).layers["extract.main"].keys) for number in (1, 2)] == [["x"], ["y"]]


def test_layers_of_samples_that_changed_are_left_out(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    before, after = made(store, "crawl-a-00000", [1]), made(store, "crawl-a-00000", [2], key="k2")
    publish_commits(store, [before], {"extract.main": [layer_of(store, before, [1], "x")]})
    changed, _ = publish_commits(store, [after], {})
    assert sorted(changed.layers) == ["samples"]
    assert changed.partial == {}
    assert "extract.main" not in store.require_record().layers


def test_samples_under_a_new_key_take_no_layers_of_those_that_another_recipe_reads(objects: ObjectStore) -> None:
    """As after a change of a source's `key` in one of two recipes: the rows of a shard are others, its name is not."""
    store = create_or_open(objects, RECORD)
    before, after = made(store, "crawl-a-00000", [1, 2]), made(store, "crawl-a-00000", [1], key="k2")
    layer = layer_of(store, before, [5, 6], "x")
    for recipe in ("mine.yaml", "theirs.yaml"):
        publish_commits(store, [before], {"extract.main": [layer]}, recipe)
    changed, _ = publish_commits(store, [after], {}, "mine.yaml")
    assert (sorted(changed.layers), changed.partial) == (["samples"], {"extract.main": 0})
    record = store.require_record()
    theirs = as_read(record, record.recipes["theirs.yaml"].layers)
    assert [row.samples for row in store.manifest(theirs, "extract.main")] == [before.shards[0].object.path]
    again, _ = publish_commits(store, [after], {"extract.main": [layer_of(store, after, [5], "y")]}, "mine.yaml")
    assert [row.samples for row in store.manifest(again, "extract.main")] == [after.shards[0].object.path]


def test_the_same_samples_under_a_new_key_keep_their_layers(objects: ObjectStore) -> None:
    store = create_or_open(objects, RECORD)
    before, after = made(store, "crawl-a-00000", [1, 2]), made(store, "crawl-a-00000", [1, 2], key="k2")
    for recipe in ("mine.yaml", "theirs.yaml"):
        publish_commits(store, [before], {"extract.main": [layer_of(store, before, [5, 6], "x")]}, recipe)
    changed, _ = publish_commits(store, [after], {}, "mine.yaml")
    assert sorted(changed.layers) == ["extract.main", "samples"]
