"""How often a store is asked: what a process has read is not asked for again, and what goes, goes at once."""

from pathlib import Path
from threading import Barrier

import pytest

from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.faulty import Proxy, in_front_of
from tests.pipelines.store.servers import BUCKET, Server
from winnow.pipelines.store import layout
from winnow.pipelines.store.buckets import bucket_store as buckets
from winnow.pipelines.store.buckets import retries, s3
from winnow.pipelines.store.commits import load_layer_commits
from winnow.pipelines.store.concurrency import delete_objects, map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.leases.lease import Lease, this_process
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError
from winnow.schemas.records import LayerPart, LayersCommit, ObjectRecord, to_json

SHARDS = [f"shard-{number}" for number in range(20)]


def put_commit(objects: ObjectStore, shard: str, rows: int = 1) -> None:
    made = ObjectRecord(path=f"layers/a/k/{shard}.c.parquet", rows=rows, bytes=9, values="v")
    commit = LayersCommit(shard, "s", "x", "y", (LayerPart("a", "k", made),), "f")
    put_record(objects, layout.layer_commit("a-set", shard), commit)


def commits_of(objects: ObjectStore, shards: list[str]) -> dict[str, LayersCommit]:
    return {commit.shard: commit for commit in load_layer_commits(objects, "a-set", shards)}


def put_commits(objects: ObjectStore) -> None:
    for shard in SHARDS:
        put_commit(objects, shard)


def test_commits_are_fetched_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{server.scheme}://{BUCKET}/commits"
    put_commits(open_location(address))
    with in_front_of(server.port, lambda _: None) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = open_location(address)
        first = commits_of(objects, SHARDS)
        assert len(proxy.requests) == len(SHARDS)
        assert commits_of(objects, SHARDS) == first
        assert len(proxy.requests) == len(SHARDS) + 1, "one listing tells that none has changed"


def test_commits_that_were_replaced_or_taken_back_are_noticed(objects: ObjectStore) -> None:
    put_commits(objects)
    first = commits_of(objects, SHARDS)
    assert sorted(first) == sorted(SHARDS)
    put_commit(objects, SHARDS[3], rows=2)
    objects.delete(layout.layer_commit("a-set", SHARDS[4]))
    put_commit(objects, "late")
    again = commits_of(objects, [*SHARDS, "late"])
    assert again[SHARDS[3]].layers[0].object.rows == 2
    assert again.keys() == first.keys() - {SHARDS[4]} | {"late"}
    assert commits_of(objects, [SHARDS[4]]) == {}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MOST_BYTES", 10)
    held = buckets.Remembered()
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
    assert delete_objects(objects, [f"d/{number}" for number in range(39)]) == 39
    assert [info.path for info in objects.list()] == ["d/39"]
    assert delete_objects(objects, ["d/39", "d/none"]) == 2
    assert delete_objects(objects, []) == 0
    assert list(objects.list()) == []


def deletions(proxy: Proxy) -> list[str]:
    """The requests that delete: DELETE for one object, POST for many."""
    return [request.method for request in proxy.requests if request.method == "DELETE" or "delete" in request.target]


def test_a_thousand_objects_go_in_one_request(moto: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, moto.environment)
    address = f"s3://{BUCKET}/thousand"
    names = [f"d/{number:04d}" for number in range(1003)]
    objects = open_location(address)
    for _ in map_objects(objects, lambda name: objects.put(name, b"x"), names[-5:]):
        pass
    with in_front_of(moto.port, lambda _: None) as proxy:
        point_to(monkeypatch, moto.behind(proxy.endpoint))
        assert delete_objects(open_location(address), iter(names)) == 1003
        assert deletions(proxy) == ["POST", "POST"]
        assert list(open_location(address).list()) == []


def answered(body: str, status: str = "200 OK") -> bytes:
    xml = f"<?xml version='1.0'?>{body}".encode()
    # Without the last header a client may send its next request into the closing connection, where nobody counts it.
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/xml", f"Content-Length: {len(xml)}", "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode() + xml


def test_a_service_that_does_not_know_batches_gets_one_request_for_each(
    moto: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = answered("<Error><Code>NotImplemented</Code><Message>no</Message></Error>", "501 Not Implemented")
    point_to(monkeypatch, moto.environment)
    address = f"s3://{BUCKET}/unknown"
    for number in range(5):
        open_location(address).put(f"d/{number}", b"x")
    with in_front_of(moto.port, lambda request: unknown if request.method == "POST" else None) as proxy:
        point_to(monkeypatch, moto.behind(proxy.endpoint))
        objects = open_location(address)
        assert delete_objects(objects, [f"d/{number}" for number in range(3)]) == 3
        assert delete_objects(objects, ["d/3", "d/4"]) == 2
        assert deletions(proxy) == ["POST"] + ["DELETE"] * 5
        assert list(objects.list()) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [("AccessDenied", "grant s3:DeleteObject on the bucket"), ("InternalError", "gave up after|failed|attempts")],
)
def test_an_object_of_a_batch_that_stays_is_an_error(
    moto: Server, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    """The answer to the batch itself is 200 OK."""
    monkeypatch.setattr(retries, "FIRST_WAIT_SECONDS", 0.001)
    kept = answered(
        f"<DeleteResult><Error><Key>d/1</Key><Code>{code}</Code><Message>no</Message></Error></DeleteResult>"
    )
    with in_front_of(moto.port, lambda request: kept if request.method == "POST" else None) as proxy:
        point_to(monkeypatch, moto.behind(proxy.endpoint))
        with pytest.raises(StoreError, match=said):
            delete_objects(open_location(f"s3://{BUCKET}/kept"), ["d/0", "d/1"])
        assert len(deletions(proxy)) == (1 if code == "AccessDenied" else retries.ATTEMPTS)


def test_one_of_many_objects_that_may_not_go_is_an_error(server: Server) -> None:
    with pytest.raises(StoreError, match="not an object name"):
        delete_objects(open_location(f"{server.scheme}://{BUCKET}/many"), ["a", "../b", "c"])


def test_several_objects_are_waited_for_at_once_and_come_in_their_order(server: Server) -> None:
    waiting = Barrier(4)  # breaks unless four are asked for before the first has come

    def work(number: int) -> int:
        waiting.wait(60)
        return number

    assert list(map_objects(open_location(f"{server.scheme}://{BUCKET}/each"), work, range(12), 4)) == [*range(12)]


def test_on_a_disk_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    asked: list[int] = []
    found = map_objects(LocalStore(tmp_path), asked.append, range(12))
    next(found)
    assert asked == [0]


def test_an_error_of_one_object_ends_them_all(server: Server) -> None:
    asked: list[int] = []

    def work(number: int) -> None:
        asked.append(number)
        if number == 3:
            raise StoreError("the third")

    with pytest.raises(StoreError, match="the third"):
        list(map_objects(open_location(f"{server.scheme}://{BUCKET}/each"), work, range(1000)))
    assert len(asked) < 100


def test_who_has_seen_enough_has_little_more_read(server: Server) -> None:
    asked: list[int] = []
    found = map_objects(open_location(f"{server.scheme}://{BUCKET}/each"), asked.append, iter(range(1000)), 4)
    next(found)
    found.close()  # type: ignore[attr-defined]  # on a bucket it is a generator
    assert len(asked) < 20


def test_a_small_object_is_sent_unasked_and_a_large_one_once_it_may_come(
    moto: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_front_of(moto.port, lambda _: None) as proxy:
        point_to(monkeypatch, moto.behind(proxy.endpoint))
        objects = open_location(f"s3://{BUCKET}/sent")
        objects.put("small", b"x" * s3.UNASKED_BYTES)
        objects.put_if_absent("new", b"x")
        objects.put("large", b"x" * (s3.UNASKED_BYTES + 1))
        assert len(objects.read("large")) == s3.UNASKED_BYTES + 1
    asked = {
        one.target.rpartition("/")[2]: b"100-continue" in one.head for one in proxy.requests if one.method == "PUT"
    }
    assert asked == {"small": False, "new": False, "large": True}


def test_what_earlier_writers_left_goes_whatever_their_number_and_costs_no_more_than_there_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{server.scheme}://{BUCKET}/leases"
    objects = open_location(address)
    for number in (1, 30):
        objects.put(f"{layout.LEASES}{number:08d}.released", b"{}")
    objects.put(f"{layout.LEASES}00000030.json", to_json(this_process()))
    with Lease(objects) as lease:
        assert lease.number == 31
    left = [f"{layout.LEASES}00000031.{end}" for end in ("json", "released")]
    assert [info.path for info in objects.list(layout.LEASES)] == left
    with in_front_of(server.port, lambda _: None) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        with Lease(open_location(address)):
            pass
    assert sum(request.method == "DELETE" for request in proxy.requests) == 4  # three of the last, and its own beat
