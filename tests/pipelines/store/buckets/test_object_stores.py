"""What a store on S3 or GCS does beyond what every store does: large objects, long listings, forks, passing faults."""

import hashlib
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.store import faulty
from tests.pipelines.store.conftest import S3_SERVERS, point_to
from tests.pipelines.store.faulty import Request, in_front_of
from tests.pipelines.store.servers import BUCKET, Server, s3_client
from winnow.pipelines.store.buckets import gcs, retries, s3
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError

LARGE = 12 << 20  # three parts of the least size that S3 takes


@pytest.fixture(autouse=True)
def _short_waits_and_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_SECONDS", 0.001)
    for service, bucket in ((s3, s3.S3Bucket), (gcs, gcs.GcsBucket)):
        monkeypatch.setattr(bucket, "whole_bytes", 5 << 20)
        monkeypatch.setattr(service, "PART_BYTES", 5 << 20)
        monkeypatch.setattr(service, "PAGE", 50)


def store_on(server: Server, name: str) -> ObjectStore:
    return open_location(f"{server.scheme}://{BUCKET}/{name}")


def noise(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


def only(*methods: str, times: int, fault: "str | bytes") -> Callable[[Request], "str | bytes | None"]:
    """The fault for the first so many requests of these methods."""
    left = [times]

    def answer(request: Request) -> "str | bytes | None":
        if request.method in methods and left[0]:
            left[0] -= 1
            return fault
        return None

    return answer


def test_a_large_file_is_one_object(server: Server, tmp_path: Path) -> None:
    objects = store_on(server, "large")
    content = noise(LARGE)
    (tmp_path / "made").write_bytes(content)
    objects.put("x", tmp_path / "made")
    assert objects.size("x") == LARGE
    with objects.open("x") as stream:
        digest = hashlib.blake2b()
        while piece := stream.read(1_000_003):
            digest.update(piece)
    assert digest.digest() == hashlib.blake2b(content).digest()


def test_a_reader_goes_anywhere(server: Server) -> None:
    objects = store_on(server, "anywhere")
    content = noise(9 << 20)
    objects.put("x", content)
    chance = np.random.default_rng(5)
    with objects.open("x") as stream:
        assert isinstance(stream, io.BufferedReader)
        for _ in range(60):
            start, length = int(chance.integers(0, 9 << 20)), int(chance.integers(0, 1 << 18))
            stream.seek(start)
            assert stream.read(length) == content[start : start + length]
            assert stream.read(10) == content[start + length :][:10]
        assert stream.seek(0, os.SEEK_END) == len(content)
        assert stream.read() == b""


def test_parquet_is_read_by_columns(server: Server) -> None:
    objects = store_on(server, "parquet")
    table = pa.table({"a": range(200_000), "text": pa.array([f"row {n} " * 9 for n in range(200_000)])})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=16_384)
    objects.put("x", sink.getvalue())
    with objects.open("x") as stream, pq.ParquetFile(stream, pre_buffer=False) as parquet:
        assert parquet.read(columns=["a"], use_threads=False)["a"].equals(table["a"])
        assert parquet.read(use_threads=False).equals(table)


def test_an_empty_object_is_an_object(server: Server) -> None:
    objects = store_on(server, "empty")
    objects.put("x", b"")
    assert objects.read("x") == b""
    with objects.open("x") as stream:
        assert stream.read() == b""
    assert [info.size for info in objects.list()] == [0]


def test_a_range_beyond_the_end_is_empty(server: Server) -> None:
    objects = store_on(server, "ends")
    objects.put("x", b"0123")
    assert objects.read("x", 2, 100) == b"23"
    assert objects.read("x", 4, 1) == objects.read("x", 9) == objects.read("x", 2, 0) == b""


def test_an_object_replaced_under_a_reader_is_an_error(server: Server) -> None:
    objects = store_on(server, "replaced")
    objects.put("x", noise(1 << 20))
    with objects.open("x") as stream:
        stream.read(10)
        objects.put("x", noise(1 << 21))
        stream.seek(1 << 19)
        with pytest.raises((StoreError, FileNotFoundError)):  # GCS keeps no old generations
            stream.read(10)


def test_a_listing_has_many_pages(server: Server) -> None:
    objects = store_on(server, "pages")
    names = [f"d/{number:03d}" for number in range(120)]
    for name in reversed(names):
        objects.put(name, b"")
    objects.put("e/", b"")  # a folder, to browsers of buckets
    assert [info.path for info in objects.list()] == names
    assert [info.path for info in objects.list("d/11")] == names[110:]


def test_names_of_every_script_come_back(server: Server) -> None:
    objects = store_on(server, "names")
    names = ["a b+c%20&=?#.json", "é/ß.parquet", "日本/語", "𝔘"]
    for name in names:
        objects.put(name, name.encode())
    assert [info.path for info in objects.list()] == sorted(names)
    assert [objects.read(name).decode() for name in names] == names


def test_no_credential_is_in_a_pickle(server: Server) -> None:
    objects = store_on(server, "pickled")
    objects.put("x", b"here")
    pickled = pickle.dumps(objects)
    assert len(pickled) < 200
    assert not [secret for secret in server.environment.values() if secret.encode() in pickled.replace(b"crawl", b"")]


FORKING = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from winnow.pipelines.store.location import open_location
objects, size = open_location(sys.argv[1]), int(sys.argv[2])
def read():
    with objects.open("x") as stream:
        return len(stream.read()) == size
assert read()  # what is imported when it is first needed is here before threads are
with ThreadPoolExecutor(4) as threads:
    reading = [threads.submit(read) for _ in range(8)]
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            os._exit(0 if all(read() for _ in range(2)) else 1)
        children.append(child)
    assert all(one.result() for one in reading)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


@pytest.mark.processes
def test_a_forked_process_has_connections_of_its_own(server: Server) -> None:
    """Threads are busy when the process is forked. It is one of its own: what other tests load does not bear forks."""
    content = noise(3 << 20)
    store_on(server, "forked").put("x", content)
    address = f"{server.scheme}://{BUCKET}/forked"
    forking = [sys.executable, "-c", FORKING, address, str(len(content))]
    subprocess.run(forking, check=True, timeout=60)


RACER = """
import sys
from winnow.pipelines.store.location import open_location
objects = open_location(sys.argv[1])
for number in range(10):
    if objects.put_if_absent(f"race/{number}", sys.argv[2].encode()):
        print(number)
"""


@pytest.mark.processes
def test_four_processes_race_and_one_wins(server: Server) -> None:
    address = f"{server.scheme}://{BUCKET}/processes"
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, address, str(racer)], stdout=subprocess.PIPE, text=True)
        for racer in range(4)
    ]
    won = [racer.communicate(timeout=60)[0].split() for racer in racers]
    assert sorted(int(number) for numbers in won for number in numbers) == list(range(10))
    objects = open_location(address)
    for racer, numbers in enumerate(won):
        assert all(objects.read(f"race/{number}") == str(racer).encode() for number in numbers)


def test_a_service_that_throttles_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = only("GET", "HEAD", "PUT", "POST", "DELETE", times=5, fault=faulty.SLOW_DOWN)
    with in_front_of(server.port, answer) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = store_on(server, "throttled")
        objects.put("x", b"content")
        assert objects.read("x") == b"content"
    assert len(proxy.requests) == 7


def test_a_service_that_throttles_for_ever_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_front_of(server.port, lambda _: faulty.SLOW_DOWN) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        with pytest.raises(StoreError, match=f"no success in {retries.ATTEMPTS} attempts.*503|SlowDown"):
            store_on(server, "throttled").put("y", b"content")
    assert len(proxy.requests) == retries.ATTEMPTS


def test_a_download_that_is_cut_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    content = noise(1 << 20)
    store_on(server, "cut").put("x", content)
    with in_front_of(server.port, only("GET", times=3, fault="cut-receiving")) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = store_on(server, "cut")
        assert objects.read("x") == content
        with objects.open("x") as stream:
            assert stream.read() == content
    assert len(proxy.requests) > 4


@pytest.mark.parametrize("fault", ["cut-sending", "lose-answer"])
@pytest.mark.parametrize("size", [1000, LARGE])
def test_an_upload_that_is_cut_is_made_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, size: int
) -> None:
    content = noise(size)
    (tmp_path / "made").write_bytes(content)
    with in_front_of(server.port, only("PUT", "POST", times=6, fault=fault)) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = store_on(server, f"sent-{fault}-{size}")
        objects.put("x", tmp_path / "made")
        assert objects.read("x") == content


def test_a_winner_whose_answer_was_lost_knows_that_it_won(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_front_of(server.port, only("PUT", "POST", times=1, fault="lose-answer")) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = store_on(server, "lost-answers")
        assert objects.put_if_absent("x", b"mine")
        assert not objects.put_if_absent("x", b"mine")


def test_a_loser_whose_first_request_was_cut_is_told_so(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_on(server, "lost").put_if_absent("x", b"the same bytes")
    with in_front_of(server.port, only("PUT", "POST", times=1, fault="cut-sending")) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        assert not store_on(server, "lost").put_if_absent("x", b"the same bytes")


@pytest.mark.parametrize("kind", S3_SERVERS)
def test_an_upload_that_fails_for_good_leaves_no_parts(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(kind)
    (tmp_path / "made").write_bytes(noise(LARGE))

    def second_part_never(request: Request) -> "str | None":
        return "cut-sending" if "partNumber=2" in request.target else None

    with in_front_of(server.port, second_part_never) as proxy:
        point_to(monkeypatch, server.behind(proxy.endpoint))
        objects = store_on(server, "failing")
        with pytest.raises(StoreError, match="no success"):
            objects.put("x", tmp_path / "made")
        assert not objects.exists("x")
    left = s3_client(server).list_multipart_uploads(Bucket=BUCKET, Prefix="failing/").get("Uploads", [])
    assert left == []


@pytest.mark.parametrize("kind", S3_SERVERS)
def test_uploads_of_dead_writers_are_dropped_below_the_prefix_alone(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Server = request.getfixturevalue(kind)
    point_to(monkeypatch, server.environment)
    client = s3_client(server)
    for key in ("mine/a", "mine/b", "mine-too/a"):
        client.create_multipart_upload(Bucket=BUCKET, Key=key)
    assert store_on(server, "mine").clear_unfinished() == 2
    assert store_on(server, "mine").clear_unfinished() == 0
    assert store_on(server, "mine-too").clear_unfinished() == 1


@pytest.mark.engines
def test_a_hundred_thousand_objects_are_listed_in_order(versitygw: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PAGE", 1000)
    point_to(monkeypatch, versitygw.environment)
    for folder in range(100):  # the server keeps an object as a file
        (versitygw.content / BUCKET / f"many/{folder:02d}").mkdir(parents=True)
        for number in range(1000):
            (versitygw.content / BUCKET / f"many/{folder:02d}/{number:03d}.json").touch()
    last, count = "", 0
    for info in store_on(versitygw, "many").list():
        assert info.path > last
        last, count = info.path, count + 1
    assert count == 100_000
