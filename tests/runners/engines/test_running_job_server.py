"""A job server that somebody else has started, and keeps: the same mixture, also when a worker dies, and it stays."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.winnow import run
from tests.runners.engines.commands import (
    ENGINES,
    assert_no_files,
    assert_same,
    free_port,
    kill_a_worker,
    left_over,
    prepared,
    require_job_server,
    scratch,
)
from winnow.runners.engines.java import EngineName, find_java

START_SECONDS = 120.0
_MASTERS = {"spark": ("--spark-master-url", "local[2]"), "flink": ("--flink-master", "[local]")}


@contextmanager
def job_server(engine: EngineName, folder: Path) -> Iterator[int]:
    """Its port. Started as an administrator would."""
    jar = require_job_server(engine)
    folder.mkdir()
    port = free_port()
    command = [
        *(str(find_java().path), "-Xmx1g", "-Dspark.default.parallelism=4", "-Dspark.ui.enabled=false"),
        *("-jar", str(jar), *_MASTERS[engine], "--job-port", str(port), "--artifact-port", "0"),
        *("--expansion-port", "-1", "--artifacts-dir", str(folder / "artifacts")),
    ]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_SECONDS
        while not listens(port):
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end
            time.sleep(0.1)
        yield port
        assert server.poll() is None
    finally:
        server.terminate()
        server.wait(30)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


@pytest.mark.engines
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_mixture_is_made_at_a_job_server_that_runs_already_though_a_worker_dies(
    tmp_path: Path, engine: EngineName
) -> None:
    require_job_server(engine)
    prepared(tmp_path, engine)
    killed: list[int] = []
    with job_server(engine, tmp_path / "server") as port:
        killer = threading.Thread(target=kill_a_worker, args=(tmp_path, killed))
        killer.start()
        flags = ["--workers", "2", "--", f"--job_endpoint=localhost:{port}"]
        done = run(tmp_path, "run", f"{engine}.yaml", "--runner", engine, *flags, env=scratch(tmp_path), seconds=900)
        killer.join()
    assert done.status == 0, done.err
    assert len(killed) == 1
    assert "running the remaining tasks again" in done.out
    assert_same(tmp_path, engine)
    assert left_over(tmp_path) == []
    assert_no_files(tmp_path)
