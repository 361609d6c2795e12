"""Flink on a session cluster, for real: the same mixture as local, deaths during a job, and what is refused."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import run
from tests.messages import assert_told
from tests.runners.engines.commands import assert_same, boot_beside, prepared, refused, require_job_server, taken_port
from tests.runners.engines.flink_cluster import session_cluster
from winnow.runners.engines.java import FLINK, flink


@contextmanager
def answering(said: object, status: int = 200) -> Iterator[str]:
    """Something on the loopback that answers every request so."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.engines
def test_on_a_session_cluster_a_worker_killed_in_mid_job_changes_nothing(tmp_path: Path) -> None:
    require_job_server("flink")
    prepared(tmp_path, "flink")
    killed: list[int] = []

    def kill_one(parent: int) -> None:
        """The first worker that has begun to work."""
        end = time.monotonic() + 120
        while not killed and time.monotonic() < end:
            for child in psutil.Process(parent).children(recursive=True):
                if "boot" in " ".join(child.cmdline()) and child.num_threads() > 6:
                    child.kill()
                    killed.append(child.pid)
                    return
            time.sleep(0.02)

    with session_cluster(tmp_path / "cluster") as cluster:
        killer = threading.Thread(target=kill_one, args=(cluster.task_manager.pid,))
        killer.start()
        flags = [f"--flink_master={cluster.master}", boot_beside(tmp_path)]
        done = run(tmp_path, "run", "flink.yaml", "--runner", "flink", "--", *flags, seconds=900)
        killer.join()
        states = set(cluster.jobs().values())

    assert done.status == 0, done.err
    assert len(killed) == 1
    assert states == {"FINISHED"}
    assert_same(tmp_path, "flink")


def test_a_job_manager_that_is_not_there_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server("flink")
    said = refused(tmp_path, capsys, "flink", ["--flink_master=127.0.0.1:1"])
    assert re.search(r"--flink_master=127\.0\.0\.1:1: no answer from a JobManager .*refused.*rest\.port", said)


def test_what_takes_a_connection_and_never_answers_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_job_server("flink")
    monkeypatch.setattr(flink, "ANSWER_SECONDS", 1.0)
    with taken_port() as port:
        said = refused(tmp_path, capsys, "flink", [f"--flink_master=127.0.0.1:{port}"])
    assert_told(said, f"--flink_master=127.0.0.1:{port}", "JobManager", "1 s")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"flink-version": "1.18.1", "taskmanagers": 1, "slots-total": 2}, "runs Flink 1.18.1"),
        ({"flink-version": "1.19.3", "taskmanagers": 0, "slots-total": 0}, "has no TaskManager"),
        ({"hello": "world"}, "JobManager's … REST"),
        (["hello"], "JobManager's … REST"),
    ],
)
def test_a_cluster_that_cannot_take_the_job_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: object, expected: str
) -> None:
    require_job_server("flink")
    with answering(answer) as address:
        assert_told(refused(tmp_path, capsys, "flink", [f"--flink_master={address}"]), expected)


def test_another_service_on_the_port_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server("flink")
    with answering({}, status=404) as address:
        assert "HTTP status 404" in refused(tmp_path, capsys, "flink", [f"--flink_master={address}"])


@pytest.mark.parametrize("master", ["cluster", "cluster:", "[::1", "http://[::1:8081"])
def test_a_master_without_a_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], master: str) -> None:
    require_job_server("flink")
    assert "expected HOST:PORT" in refused(tmp_path, capsys, "flink", [f"--flink_master={master}"])


def test_an_unknown_flag_of_its_own_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "did you mean --parallelism?" in refused(tmp_path, capsys, "flink", ["--paralelism=3"])


def test_slots_that_are_missing_again_after_a_silence_have_their_time_to_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flink, "ASKED_SECONDS", 0.0)
    monkeypatch.setattr(flink, "RETURN_SECONDS", 0.3)
    fewer = {"flink-version": FLINK.engine_version, "taskmanagers": 1, "slots-total": 1}
    said = dict(fewer)
    with answering(said) as address:
        slots = flink.LostSlots(flink.Cluster(address, FLINK.engine_version, 2, 2, 2), needed=2)
        assert slots.lost == 0
        time.sleep(0.4)
        said.clear()
        assert slots.lost == 0
        said |= fewer
        assert slots.lost == 0
        time.sleep(0.4)
        assert slots.lost == 1
