"""SIGKILL at any time, and the next command: no temporary file of the dead run is left, in the store or outside it."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.winnow import await_gone, kill_group, kill_parent_alone, run, run_here, start
from tests.made_once import made_once
from tests.runners.forgetting.crawl import HOST, write_crawl, write_recipe
from tests.runners.forgetting.files import holders
from winnow.pipelines.store.leases.lease import Lease
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.environment.temporary_root import RUN_FOLDER_VARIABLE

pytestmark = pytest.mark.processes

KEPT = {"guard", "kernels"}
"""What the folder of a user's runs has while none runs."""

PATIENCE_SECONDS = 60.0
ROUNDS = 12


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv(RUN_FOLDER_VARIABLE, raising=False)
    return folder


def make_ingested(folder: Path) -> None:
    write_crawl(folder)
    write_recipe(folder)
    assert run(folder, "ingest", "recipe.yaml", "--workers", "1").status == 0


def left(temporary: Path, store: Path) -> list[str]:
    """Every file and folder that a run has left."""
    root = temporary / f"winnow-{os.getuid()}"
    outside = [path for path in temporary.iterdir() if path != root]
    of_runs = [path for path in root.iterdir() if path.name not in KEPT] if root.exists() else []
    unfinished = list((store / ".tmp").iterdir()) if (store / ".tmp").exists() else []
    return [str(path) for path in (*outside, *of_runs, *unfinished)]


def purge_leaves_nothing(folder: Path, temporary: Path) -> None:
    """The text is forgotten and purged: it is nowhere in the store or in temporary files."""
    assert run_here(folder, "forget", "recipe.yaml", "--domain", HOST, "--url", "http://5.example").status == 0
    done = run(folder, "gc", "recipe.yaml", "--purge")
    assert done.status == 0, done.err
    assert left(temporary, folder / "store") == []
    assert holders(folder / "store") == []
    assert holders(temporary) == []


@pytest.mark.beam
def test_what_a_killed_run_left_goes_with_the_next_command(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, temporary: Path
) -> None:
    """Killed with its workers as soon as it has marks, so in the middle of a stage."""
    folder = tmp_path / "work"
    shutil.copytree(made_once(tmp_path_factory, "leftovers", make_ingested), folder)
    process = start(folder, "annotate", "recipe.yaml", "--workers", "2")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not list(temporary.glob("*/*/marks-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert await_gone(kill_group(process)) == []
    assert left(temporary, folder / "store") != []
    purge_leaves_nothing(folder, temporary)


@pytest.mark.large
def test_kills_at_any_time_leave_nothing_after_the_next_command(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, temporary: Path
) -> None:
    source = made_once(tmp_path_factory, "leftovers", make_ingested)
    moments = random.Random(22)
    met = 0
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        shutil.copytree(source, folder)
        if number % 2:
            shutil.rmtree(folder / "store")
        process = start(folder, "run", "recipe.yaml", "--workers", "2")
        time.sleep(moments.uniform(0.5, 8))
        members = (kill_group if number % 3 else kill_parent_alone)(process)
        assert await_gone(members) == []
        met += bool(left(temporary, folder / "store"))
        done = run(folder, "run", "recipe.yaml", "--workers", "2")
        assert done.status == 0, done.err
        assert left(temporary, folder / "store") == [], number
        purge_leaves_nothing(folder, temporary)
    assert met > ROUNDS // 3


def test_a_command_that_waits_says_for_whom_and_goes_on_or_is_interrupted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path / "work"
    shutil.copytree(made_once(tmp_path_factory, "leftovers", make_ingested), folder)
    command = [sys.executable, "-m", "winnow", "gc", "--wait", "recipe.yaml"]
    with Lease(LocalStore(folder / "store")):
        refused = run_here(folder, "gc", "recipe.yaml")
        assert refused.status == 1
        assert "is writing to this store; wait until it ends (--wait does), or stop it" in refused.err
        waiting = [subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for process in waiting:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith(f"winnow: waiting for process {os.getpid()} on "), line
        waiting[0].send_signal(signal.SIGINT)
        assert waiting[0].wait(PATIENCE_SECONDS) == 130
        assert waiting[0].stderr is not None
        assert waiting[0].stderr.read().startswith("winnow: interrupted")
        assert waiting[1].poll() is None
    assert waiting[1].wait(PATIENCE_SECONDS) == 0
