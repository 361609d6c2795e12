"""Spark and Flink inside the job server, for real: the same mixture as local, deaths during a job, and nothing left."""

import os
import re
import threading
import time
from pathlib import Path

import pytest

from tests.faults.winnow import run, start
from tests.runners.engines.commands import (
    ENGINES,
    assert_same,
    kill_a_worker,
    left_over,
    of_command,
    prepared,
    require_job_server,
    scratch,
    small,
)
from tests.runners.engines.recipes import write_lines, write_recipe
from winnow.runners.engines.java import EngineName

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ENGINES)]


def test_the_same_mixture_as_local_is_made_and_nothing_is_left(tmp_path: Path, engine: EngineName) -> None:
    require_job_server(engine)
    prepared(tmp_path, engine)
    flags = ["--runner", engine, "--workers", "2", "--", *small(engine)]
    done = run(tmp_path, "run", f"{engine}.yaml", *flags, env=scratch(tmp_path), seconds=900)
    assert done.status == 0, done.err
    assert_same(tmp_path, engine)
    assert left_over(tmp_path) == []
    of_user = tmp_path / "scratch" / f"winnow-{os.getuid()}"
    assert [one for one in (tmp_path / "scratch").iterdir() if one != of_user] == []
    assert {one.name for one in of_user.iterdir()} <= {"guard", "kernels"}  # what it has while nothing runs


def test_a_driver_that_is_killed_takes_its_job_server_and_workers_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: EngineName
) -> None:
    require_job_server(engine)
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, engine)
    monkeypatch.setenv("TMPDIR", scratch(tmp_path)["TMPDIR"])
    driver = start(tmp_path, "run", f"{engine}.yaml", "--runner", engine, "--workers", "2")
    end = time.monotonic() + 240
    while len(of_command(tmp_path)) < 4 and time.monotonic() < end:  # driver, watcher, Java, fork server
        time.sleep(0.1)
    assert len(of_command(tmp_path)) >= 4
    driver.kill()
    driver.wait()
    assert left_over(tmp_path) == []


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path, engine: EngineName) -> None:
    require_job_server(engine)
    prepared(tmp_path, engine)
    killed: list[int] = []

    killer = threading.Thread(target=kill_a_worker, args=(tmp_path, killed))
    killer.start()
    flags = ["--runner", engine, "--workers", "2", "--", *small(engine)]
    done = run(tmp_path, "run", f"{engine}.yaml", *flags, env=scratch(tmp_path), seconds=900)
    killer.join()
    assert done.status == 0, done.err
    assert killed
    assert re.search(r"a worker process died(?: in \S+)?; running the remaining tasks again", done.out)
    assert_same(tmp_path, engine)
