"""Heaps that really run out, on real engines: nothing is committed that came of a truncated group.

A run ends with a line of what ran out and how to give more; nothing is left running, and what is there is right.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.winnow import Done, assert_clean, run
from tests.runners.engines.clusters import processes_under, spark_cluster
from tests.runners.engines.commands import (
    ENGINES,
    assert_same,
    boot_beside,
    left_over,
    prepared,
    require_job_server,
    scratch,
    small,
)
from tests.runners.engines.heavy_groups import whole_groups
from winnow.runners.engines.java import EngineName

pytestmark = pytest.mark.engines

REPOSITORY = Path(__file__).parents[3]
JVM = "--job_server_jvm_properties="
TOO_SMALL = {
    # Spark refuses to run in less than 450 MB, unless it need not keep 300 of them free.
    "spark": (f"{JVM}-Xmx70m", f"{JVM}-Dspark.testing.reservedMemory=1"),
    "flink": (f"{JVM}-Xmx70m", f"{JVM}-XX:MaxDirectMemorySize=600m"),
}
"""Heaps that are full in the middle of a recipe of 240 texts."""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recipe_that_fills_the_heap_ends_in_a_line_and_is_finished_by_the_same_command(
    tmp_path: Path, engine: EngineName
) -> None:
    require_job_server(engine)
    prepared(tmp_path, engine)
    flags = ("--runner", engine, "--workers", "2", "--", *small(engine), *TOO_SMALL[engine])
    done = run(tmp_path, "run", f"{engine}.yaml", *flags, env=scratch(tmp_path), seconds=600)
    assert_ran_out(done, tmp_path)
    assert_clean(tmp_path, f"{engine}.yaml")
    again = run(tmp_path, "run", f"{engine}.yaml", "--workers", "1", seconds=600)
    assert again.status == 0, again.err
    assert_same(tmp_path, engine)


def test_groups_that_fill_an_embedded_heap_are_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    require_job_server("flink")
    done = heavy_groups(tmp_path, "flink", f"{JVM}-Xmx320m", f"{JVM}-XX:MaxDirectMemorySize=900m")
    assert_ran_out(done, tmp_path)
    assert_whole(tmp_path)


def test_groups_that_fill_an_executor_are_kept_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_job_server("spark")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # executors start workers in the cluster's environment
    once = (f"{JVM}-Dspark.task.maxFailures=1", f"{JVM}-Dspark.excludeOnFailure.enabled=false")
    with spark_cluster(tmp_path / "cluster", workers=1, memory="480m") as cluster:
        done = heavy_groups(
            *(tmp_path, "spark", f"--spark_master_url={cluster.url}", boot_beside(tmp_path)),
            *(f"{JVM}-Dspark.executor.memory=480m", f"{JVM}-Dspark.default.parallelism=8", *once),
        )
        assert_ran_out(done, tmp_path)
        await_words(tmp_path / "cluster", "java.lang.OutOfMemoryError: Java heap space")
    assert_whole(tmp_path)
    assert processes_under(tmp_path / "cluster") == []


def heavy_groups(folder: Path, engine: EngineName, *flags: str) -> Done:
    """Groups through the engine's own shuffle, by a command of its own."""
    (folder / "made").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.runners.engines.heavy_groups", str(folder / "made"), engine, *flags],
        cwd=folder,
        env={**os.environ, **scratch(folder), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def await_words(cluster: Path, words: str, seconds: float = 60) -> None:
    """What an executor said last; its worker may be a little behind in writing it down."""
    end = time.monotonic() + seconds
    while not any(words in log.read_text("utf-8", "replace") for log in cluster.glob("work-*/app-*/*/stdout")):
        assert time.monotonic() < end, f"no executor says {words}"
        time.sleep(0.1)


def assert_ran_out(done: Done, folder: Path) -> None:
    """It failed for want of memory, and says so; it is gone."""
    assert done.status == 1, done.out + done.err
    last = done.err.strip().splitlines()[-1]
    assert re.match(r"winnow: .* ran out of memory; .*(?:-Xmx|spark\.executor\.memory)", last), done.err
    assert "Traceback" not in done.err
    assert left_over(folder) == []


def assert_whole(folder: Path) -> None:
    """The group that fills the heap was never made, and what was made of others is right."""
    kept = {file.name: file.read_text() for file in (folder / "made" / "kept").iterdir()}
    whole = whole_groups()
    assert set(kept) <= {"1", "2", "3"}
    assert kept == {partition: whole[partition] for partition in kept}
