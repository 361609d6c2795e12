"""Flink, run for real: the same mixture as local, deaths in mid-job, and what a person is told when something lacks."""

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import run, start, tree_hash
from tests.runners.engines.flink_cluster import session_cluster
from tests.runners.engines.recipes import exported, write_lines, write_recipe
from winnow.runners.cli import main
from winnow.runners.jobserver import FLINK, JobServerError, find_jar, find_java


def require_job_server() -> None:
    try:
        find_java()
        found = find_jar(FLINK)
    except JobServerError as error:
        pytest.skip(str(error))
    if found is None:
        pytest.skip("no job server for Flink on this machine yet: winnow engines build flink")


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


def boot_beside(folder: Path) -> str:
    """The flag that makes TaskManagers start this Python's workers."""
    boot = folder / "boot"
    boot.write_text(f"#!{sys.executable}\nfrom winnow.runners.boot import entry\n\nentry()\n")
    boot.chmod(0o755)
    return f"--environment_options=process_command={boot}"


def job_servers(folder: Path) -> list[int]:
    """Processes that a command which ran in this folder has left behind."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}
        if environment.get("TMPDIR") == str(folder / "scratch"):
            found.append(process.pid)
    return found


def scratch(folder: Path) -> dict[str, str]:
    (folder / "scratch").mkdir(exist_ok=True)
    return {"TMPDIR": str(folder / "scratch")}


@pytest.mark.engines
def test_embedded_flink_makes_the_same_mixture_as_local_and_leaves_nothing(tmp_path: Path) -> None:
    require_job_server()
    write_lines(tmp_path)
    write_recipe(tmp_path, "local")
    write_recipe(tmp_path, "flink")
    expected = run(tmp_path, "run", "local.yaml", "--workers", "1")
    assert expected.status == 0, expected.err

    done = run(tmp_path, "run", "flink.yaml", "--runner", "flink", "--workers", "2", env=scratch(tmp_path))

    assert done.status == 0, done.err
    assert tree_hash(tmp_path, "flink/store") == tree_hash(tmp_path, "local/store")
    assert exported(tmp_path, "flink") == exported(tmp_path, "local") != {}
    time.sleep(1)
    assert job_servers(tmp_path) == []
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.engines
def test_a_driver_that_is_killed_takes_its_job_server_and_workers_with_it(tmp_path: Path) -> None:
    require_job_server()
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, "flink")
    os.environ.update(scratch(tmp_path))
    try:
        driver = start(tmp_path, "run", "flink.yaml", "--runner", "flink", "--workers", "2")
    finally:
        del os.environ["TMPDIR"]
    end = time.monotonic() + 120
    while len(job_servers(tmp_path)) < 4 and time.monotonic() < end:  # driver, keeper, Java, nursery
        time.sleep(0.1)
    assert len(job_servers(tmp_path)) >= 4

    driver.kill()
    driver.wait()

    end = time.monotonic() + 30
    while job_servers(tmp_path) and time.monotonic() < end:
        time.sleep(0.2)
    assert job_servers(tmp_path) == []


@pytest.mark.engines
def test_on_a_session_cluster_a_worker_killed_in_mid_job_changes_nothing(tmp_path: Path) -> None:
    require_job_server()
    write_lines(tmp_path)
    write_recipe(tmp_path, "local")
    write_recipe(tmp_path, "flink")
    expected = run(tmp_path, "run", "local.yaml", "--workers", "1")
    assert expected.status == 0, expected.err
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
        done = run(tmp_path, "run", "flink.yaml", "--runner", "flink", "--", *flags)
        killer.join()
        states = set(cluster.jobs().values())

    assert done.status == 0, done.err
    assert len(killed) == 1
    assert states == {"FINISHED"}
    assert tree_hash(tmp_path, "flink/store") == tree_hash(tmp_path, "local/store")
    assert exported(tmp_path, "flink") == exported(tmp_path, "local") != {}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What a person is told; it is one line, and nothing was begun."""
    write_lines(folder, rows=20)
    recipe = write_recipe(folder, "flink")
    assert main(["run", str(recipe), "--runner", "flink", "--", *flags]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("winnow: ")
    assert "\n" not in said
    assert not (folder / "flink").exists()
    return said


def test_a_job_manager_that_is_not_there_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server()
    began = time.monotonic()
    said = refused(tmp_path, capsys, "--flink_master=127.0.0.1:1")
    assert re.search(r"--flink_master=127\.0\.0\.1:1: no JobManager answers .*refused.*rest\.port", said)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"flink-version": "1.18.1", "taskmanagers": 1, "slots-total": 2}, "runs Flink 1.18.1, and the job server"),
        ({"flink-version": "1.19.3", "taskmanagers": 0, "slots-total": 0}, "has no TaskManager"),
        ({"hello": "world"}, "no Flink JobManager's REST service"),
        (["hello"], "no Flink JobManager's REST service"),
    ],
)
def test_a_cluster_that_cannot_take_the_job_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: object, expected: str
) -> None:
    require_job_server()
    with answering(answer) as address:
        assert expected in refused(tmp_path, capsys, f"--flink_master={address}")


def test_another_service_on_the_port_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server()
    with answering({}, status=404) as address:
        assert "HTTP status 404" in refused(tmp_path, capsys, f"--flink_master={address}")


def test_a_master_without_a_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server()
    assert "expected HOST:PORT" in refused(tmp_path, capsys, "--flink_master=cluster")


def test_an_unknown_flag_is_refused_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean --parallelism?" in refused(tmp_path, capsys, "--paralelism=3")


def test_without_java_the_remedy_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "holds no bin/java" in refused(tmp_path, capsys)


@pytest.mark.engines
def test_a_port_that_is_taken_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    require_job_server()
    write_lines(tmp_path, rows=20)
    write_recipe(tmp_path, "flink")
    with answering({}) as address:
        port = address.partition(":")[2]
        done = run(
            tmp_path, "run", "flink.yaml", "--runner", "flink", "--", f"--job_port={port}", env=scratch(tmp_path)
        )
    assert done.status == 1
    assert "a port is taken" in done.err
    assert port in done.err
    time.sleep(1)
    assert job_servers(tmp_path) == []
    shutil.rmtree(tmp_path / "scratch")
