"""Uploads in parts to GCS that break in the middle: the object ends whole or not at all.

fake-gcs-server takes the question how far an upload is for the upload's end. `Sessions` answers it in front of the
server, as Google documents it; what becomes of an upload without that is tested too.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.pipelines.store import faulty
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.faulty import Answer, Proxy, Request, in_front_of
from tests.pipelines.store.servers import BUCKET, Server
from winnow.pipelines.store.buckets import gcs, retries
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError

pytestmark = pytest.mark.engines

PART = 1 << 20
SIZE = 3 * PART + 12_345  # four parts


def empty(status: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Length: 0", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


GONE = empty("410 Gone")
NOT_FOUND = empty("404 Not Found")
NOTHING_ARRIVED = empty("308 Resume Incomplete")


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(gcs.GcsBucket, "whole_bytes", PART)
    monkeypatch.setattr(gcs, "PART_BYTES", PART)


@pytest.fixture
def objects(fake_gcs: Server, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Asked without a proxy, to see what is there."""
    point_to(monkeypatch, fake_gcs.environment)
    return open_location(f"gs://{BUCKET}/sessions")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    file = tmp_path / "made"
    file.write_bytes(np.random.default_rng(3).bytes(SIZE))
    return file


def is_part(request: Request, start: int | None = None) -> bool:
    """Whether a request sends bytes of an upload, from there on."""
    head = request.head.lower()
    wanted = b"content-range: bytes " if start is None else f"content-range: bytes {start}-".encode()
    return request.method == "PUT" and wanted in head and b"bytes */" not in head


@dataclass
class Sessions:
    """What has arrived of each upload, and its end; asked before the server is, with what to do to other requests."""

    fault: Answer
    arrived: dict[str, int] = field(default_factory=dict)
    ended: dict[str, bytes] = field(default_factory=dict)

    def answer(self, request: Request) -> "str | bytes | None":
        upload = request.target.partition("upload_id=")[2]
        if b"content-range: bytes */" not in request.head.lower():
            return self.fault(request)
        if upload in self.ended:
            return self.ended[upload]
        arrived = self.arrived.get(upload, 0)
        return empty("308 Resume Incomplete", *([f"Range: bytes=0-{arrived - 1}"] if arrived else []))

    def note(self, request: Request, answered: bytes) -> None:
        upload = request.target.partition("upload_id=")[2]
        if upload and answered.startswith(b"HTTP/1.1 200"):
            self.ended[upload] = answered
        elif found := re.search(rb"(?i)\r\nrange: bytes=0-(\d+)", answered):
            self.arrived[upload] = int(found[1]) + 1


@contextmanager
def sessions_behind(server: Server, fault: Answer) -> Iterator[Proxy]:
    sessions = Sessions(fault)
    with in_front_of(server.port, sessions.answer, sessions.note) as proxy:
        yield proxy


def begun(proxy: Proxy) -> int:
    return sum("uploadType=resumable" in request.target and request.method == "POST" for request in proxy.requests)


def at(start: int, fault: "str | bytes", times: int) -> Answer:
    """The fault for the first so many requests that send the part that begins there."""
    left = [times]

    def answer(request: Request) -> "str | bytes | None":
        if not is_part(request, start) or not left[0]:
            return None
        left[0] -= 1
        return fault

    return answer


def put_behind(proxy: Proxy, server: Server, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    with monkeypatch.context() as patched:
        point_to(patched, server.behind(proxy.endpoint))
        open_location(f"gs://{BUCKET}/sessions").put("x", file)


@pytest.mark.parametrize("start", [0, PART, 3 * PART])
@pytest.mark.parametrize(
    ("fault", "uploads"),
    [
        pytest.param("cut-sending", 1, id="cut-sending"),
        pytest.param("half-arrives", 1, id="half-arrives"),
        pytest.param("cut-receiving", 1, id="cut-receiving"),
        pytest.param("lose-answer", 1, id="lose-answer"),
        pytest.param(faulty.SLOW_DOWN, 1, id="throttled"),
        pytest.param(GONE, 2, id="gone"),
        pytest.param(NOT_FOUND, 2, id="not-found"),
        pytest.param(NOTHING_ARRIVED, 1, id="stands-still"),
    ],
)
def test_an_upload_that_breaks_at_a_part_goes_on(
    fake_gcs: Server,
    objects: ObjectStore,
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    start: int,
    fault: "str | bytes",
    uploads: int,
) -> None:
    objects.delete("x")
    with sessions_behind(fake_gcs, at(start, fault, 1)) as proxy:
        put_behind(proxy, fake_gcs, monkeypatch, made)
    assert objects.read("x") == made.read_bytes()
    assert any(is_part(request, start) for request in proxy.requests), "the fault was met"
    assert begun(proxy) == uploads


@pytest.mark.parametrize("start", [PART, 3 * PART])
@pytest.mark.parametrize("fault", ["cut-sending", "half-arrives", "lose-answer"])
def test_a_server_that_ends_an_upload_when_it_is_asked_how_far_it_is(
    fake_gcs: Server,
    objects: ObjectStore,
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    start: int,
    fault: str,
) -> None:
    objects.delete("x")
    with in_front_of(fake_gcs.port, at(start, fault, 1)) as proxy:
        put_behind(proxy, fake_gcs, monkeypatch, made)
    assert objects.read("x") == made.read_bytes()
    assert begun(proxy) == 2
    with in_front_of(fake_gcs.port, at(start, fault, 1000)) as proxy, pytest.raises(StoreError, match="run again"):
        put_behind(proxy, fake_gcs, monkeypatch, made)
    assert begun(proxy) == gcs.UPLOADS
    assert not objects.exists("x") or objects.read("x") == made.read_bytes()  # all arrived, and no answer did


@pytest.mark.parametrize("before", [None, b"what was there"])
@pytest.mark.parametrize(
    ("fault", "line", "parts"),
    [
        pytest.param(GONE, f"dropped the upload of sessions/x {gcs.UPLOADS} times; run again", gcs.UPLOADS, id="gone"),
        pytest.param(faulty.SLOW_DOWN, f"no success in {retries.ATTEMPTS} attempts", retries.ATTEMPTS, id="throttled"),
        pytest.param("cut-sending", f"no success in {retries.ATTEMPTS} attempts", retries.ATTEMPTS, id="cut"),
        pytest.param(
            NOTHING_ARRIVED, f"no success in {retries.ATTEMPTS} attempts", retries.ATTEMPTS, id="stands-still"
        ),
    ],
)
def test_an_upload_that_breaks_for_good_is_given_up_and_nothing_is_seen_of_it(
    fake_gcs: Server,
    objects: ObjectStore,
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: bytes | None,
    fault: "str | bytes",
    line: str,
    parts: int,
) -> None:
    objects.delete("x") if before is None else objects.put("x", before)
    with (
        sessions_behind(fake_gcs, at(2 * PART, fault, 1000)) as proxy,
        pytest.raises(StoreError, match=line),
    ):
        put_behind(proxy, fake_gcs, monkeypatch, made)
    assert sum(is_part(request, 2 * PART) for request in proxy.requests) == parts
    if before is None:
        assert not objects.exists("x")
    else:
        assert objects.read("x") == before


def test_an_upload_whose_process_is_killed_is_never_seen(
    fake_gcs: Server, objects: ObjectStore, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.delete("x")
    put = (
        "import sys; from pathlib import Path; from winnow.pipelines.store.buckets import gcs\n"
        f"gcs.GcsBucket.whole_bytes = gcs.PART_BYTES = {PART}\n"
        f"gcs.GcsStore.of('gs://{BUCKET}/sessions').put('x', Path(sys.argv[1]))"
    )
    started: list[subprocess.Popen[bytes]] = []

    def kill_at_the_third(request: Request) -> None:
        if is_part(request, 2 * PART):
            os.kill(started[0].pid, signal.SIGKILL)

    with in_front_of(fake_gcs.port, kill_at_the_third) as proxy:
        environment = {**os.environ, **fake_gcs.behind(proxy.endpoint)}
        started.append(subprocess.Popen([sys.executable, "-c", put, str(made)], env=environment))
        assert started[0].wait(60) == -signal.SIGKILL
    assert not objects.exists("x")
    objects.put("x", made)
    assert objects.read("x") == made.read_bytes()


@pytest.mark.parametrize("fault", ["lose-answer", "cut-sending", "cut-receiving", "throttled"])
def test_racing_commits_through_a_bad_network_have_one_winner(
    fake_gcs: Server, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Every third request meets the fault, whatever it asks for."""
    monkeypatch.setattr(retries, "ATTEMPTS", 100)
    what = faulty.SLOW_DOWN if fault == "throttled" else fault
    with in_front_of(fake_gcs.port, lambda request: what if request.number % 3 == 0 else None) as proxy:
        point_to(monkeypatch, fake_gcs.behind(proxy.endpoint))
        there = open_location(f"gs://{BUCKET}/sessions")
        for turn in range(5):
            name = f"commits/{fault}-{turn}"
            with ThreadPoolExecutor(4) as racers:
                won = list(racers.map(lambda who, name=name: there.put_if_absent(name, b"%d" % who), range(4)))
            assert won.count(True) == 1
            assert there.read(name) == b"%d" % won.index(True)
    point_to(monkeypatch, fake_gcs.environment)
    assert len(list(objects.list(f"commits/{fault}-"))) == 5
