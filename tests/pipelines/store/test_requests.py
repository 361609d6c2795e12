"""How often a store is asked: what a process has read is not asked for again, and what goes, goes at once."""

import pytest

from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.faulty import in_front_of
from tests.pipelines.store.servers import BUCKET, Server
from winnow.pipelines.store import layout, remembered
from winnow.pipelines.store.commits import load_layer_commits
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.together import delete_all
from winnow.schemas.errors import StoreError
from winnow.schemas.records import LayerCommit, ObjectRecord, to_json

SHARDS = [f"shard-{number}" for number in range(20)]


def commit(shard: str, rows: int = 1) -> bytes:
    made = ObjectRecord(path=f"layers/a/k/{shard}.c.parquet", rows=rows, bytes=9, values="v")
    return to_json(
        LayerCommit(
            layer="a", key="k", shard=shard, source="s", object=made, samples="x", statistics="y", fingerprint="f"
        )
    )


def put_commits(objects: ObjectStore) -> None:
    for shard in SHARDS:
        objects.put(layout.commit("a", "k", shard), commit(shard))


def test_commits_are_fetched_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{server.scheme}://{BUCKET}/commits"
    put_commits(open_location(address))
    with in_front_of(server.port, lambda _: None) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = open_location(address)
        first = load_layer_commits(objects, "a", "k", SHARDS)
        assert len(proxy.requests) == len(SHARDS)
        assert load_layer_commits(objects, "a", "k", SHARDS) == first
        assert len(proxy.requests) == len(SHARDS) + 1, "one listing tells that none has changed"


def test_commits_that_were_replaced_or_taken_back_are_noticed(objects: ObjectStore) -> None:
    put_commits(objects)
    first = load_layer_commits(objects, "a", "k", SHARDS)
    assert sorted(first) == sorted(SHARDS)
    objects.put(layout.commit("a", "k", SHARDS[3]), commit(SHARDS[3], rows=2))
    objects.delete(layout.commit("a", "k", SHARDS[4]))
    objects.put(layout.commit("a", "k", "late"), commit("late"))
    again = load_layer_commits(objects, "a", "k", [*SHARDS, "late"])
    assert again[SHARDS[3]].object.rows == 2
    assert again.keys() == first.keys() - {SHARDS[4]} | {"late"}
    assert load_layer_commits(objects, "a", "k", [SHARDS[4]]) == {}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_BYTES", 10)
    held = remembered.Remembered()
    for name in "abc":
        held.keep(name, "1", b"four")
    assert [held.get(name, "1") for name in "abc"] == [None, b"four", b"four"]
    assert held.get("b", "1") is not None
    held.keep("c", "2", b"fives")
    held.keep("d", "1", b"two")
    assert [held.get(name, "1") for name in "bcd"] == [None, None, b"two"]
    assert held.get("c", "2") == b"fives"


def test_all_of_many_objects_go(objects: ObjectStore) -> None:
    for number in range(40):
        objects.put(f"d/{number}", b"x")
    assert delete_all(objects, [f"d/{number}" for number in range(39)]) == 39
    assert [info.path for info in objects.list()] == ["d/39"]
    assert delete_all(objects, ["d/39", "d/none"]) == 2
    assert delete_all(objects, []) == 0
    assert list(objects.list()) == []


def test_one_of_many_objects_that_may_not_go_is_an_error(server: Server) -> None:
    with pytest.raises(StoreError, match="not an object name"):
        delete_all(open_location(f"{server.scheme}://{BUCKET}/many"), ["a", "../b", "c"])
