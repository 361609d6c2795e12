"""Spark, run for real: the same mixture as local, deaths in mid-job, and what a person is told when something lacks."""

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import run, start, tree_hash
from tests.runners.engines.clusters import SparkCluster, processes_under, spark_cluster
from tests.runners.engines.recipes import exported, write_lines, write_recipe
from winnow.runners.cli import main
from winnow.runners.jobserver import SPARK, JobServerError, find_jar, find_java

SMALL = ("--job_server_jvm_properties=-Dspark.default.parallelism=4",)
SMALL_EXECUTORS = "--job_server_jvm_properties=-Dspark.executor.memory=500m"


def require_job_server() -> None:
    try:
        find_java()
        found = find_jar(SPARK)
    except JobServerError as error:
        pytest.skip(str(error))
    if found is None:
        pytest.skip("no job server for Spark on this machine yet: winnow engines build spark")


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def boot_beside(folder: Path, version: str | None = None) -> str:
    """The flag that makes executors start this Python's workers, or those of another version."""
    boot = folder / "winnow-boot"
    other = "" if version is None else f"surroundings.version = lambda _: '{version}'\n"
    boot.write_text(
        f"#!{sys.executable}\nfrom winnow.pipelines import surroundings\nfrom winnow.runners.boot import entry\n\n"
        f"{other}entry()\n"
    )
    boot.chmod(0o755)
    return f"--environment_options=process_command={boot}"


def scratch(folder: Path) -> dict[str, str]:
    (folder / "scratch").mkdir(exist_ok=True)
    return {"TMPDIR": str(folder / "scratch")}


def left_over(folder: Path, seconds: float = 30) -> list[list[str]]:
    """What still runs of a command whose temporary folder this was, after a while to end in."""
    end = time.monotonic() + seconds
    while (found := of_command(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def of_command(folder: Path) -> list[list[str]]:
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        if (process.info["environ"] or {}).get("TMPDIR") == str(folder / "scratch"):
            found.append(process.info["cmdline"])
    return found


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A folder with the same recipe twice, of which one has been run by `local`."""
    require_job_server()
    write_lines(tmp_path)
    write_recipe(tmp_path, "local")
    write_recipe(tmp_path, "spark")
    expected = run(tmp_path, "run", "local.yaml", "--workers", "1")
    assert expected.status == 0, expected.err
    return tmp_path


def assert_same(folder: Path) -> None:
    assert tree_hash(folder, "spark/store") == tree_hash(folder, "local/store")
    assert exported(folder, "spark") == exported(folder, "local") != {}


@pytest.mark.engines
def test_embedded_spark_makes_the_same_mixture_as_local_and_leaves_nothing(both: Path) -> None:
    done = run(
        both, "run", "spark.yaml", "--runner", "spark", "--workers", "2", "--", *SMALL, env=scratch(both), seconds=900
    )
    assert done.status == 0, done.err
    assert_same(both)
    assert left_over(both) == []
    assert list((both / "scratch").iterdir()) == []


@pytest.mark.engines
def test_a_driver_that_is_killed_takes_its_job_server_and_workers_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_job_server()
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, "spark")
    monkeypatch.setenv("TMPDIR", scratch(tmp_path)["TMPDIR"])
    driver = start(tmp_path, "run", "spark.yaml", "--runner", "spark", "--workers", "2")
    end = time.monotonic() + 240
    while len(of_command(tmp_path)) < 4 and time.monotonic() < end:  # driver, watcher, Java, nursery
        time.sleep(0.1)
    assert len(of_command(tmp_path)) >= 4
    driver.kill()
    driver.wait()
    assert left_over(tmp_path) == []


@pytest.mark.engines
def test_a_worker_killed_under_embedded_spark_changes_nothing(both: Path) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        end = time.monotonic() + 300
        while time.monotonic() < end:
            for process in psutil.process_iter(["cmdline", "environ", "ppid"]):
                mine = (process.info["environ"] or {}).get("TMPDIR") == str(both / "scratch")
                if mine and "winnow.pipelines.nursery" in (process.info["cmdline"] or []) and process.num_threads() > 6:
                    process.kill()
                    killed.append(process.pid)
                    return
            time.sleep(0.02)

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = run(
        both, "run", "spark.yaml", "--runner", "spark", "--workers", "2", "--", *SMALL, env=scratch(both), seconds=900
    )
    killer.join()
    assert done.status == 0, done.err
    assert killed
    assert_same(both)


def first_of(find: Callable[[], list[psutil.Process]], killed: list[int], *, busy: bool) -> None:
    """Kill the first process that is found, once it has begun to work."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for process in find():
            try:
                if not busy or process.num_threads() > 6:
                    process.kill()
                    killed.append(process.pid)
                    return
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.05)


@pytest.mark.engines
@pytest.mark.parametrize("victim", ["python", "executor"])
def test_a_standalone_cluster_makes_the_same_mixture_whoever_dies_in_mid_job(both: Path, victim: str) -> None:
    killed: list[int] = []
    with spark_cluster(both / "cluster", workers=2, memory="700m") as cluster:
        killer = threading.Thread(target=first_of, args=(_victims(cluster, victim), killed), kwargs={"busy": True})
        killer.start()
        flags = [f"--spark_master_url={cluster.url}", boot_beside(both), SMALL_EXECUTORS, *SMALL]
        done = run(both, "run", "spark.yaml", "--runner", "spark", "--", *flags, seconds=1500)
        killer.join()
    assert done.status == 0, done.err
    assert len(killed) == 1
    assert_same(both)
    assert processes_under(both / "cluster") == []


def _victims(cluster: SparkCluster, victim: str) -> Callable[[], list[psutil.Process]]:
    return cluster.executors if victim == "executor" else cluster.python_workers


@pytest.mark.engines
@pytest.mark.parametrize(
    ("boot", "expected"),
    [
        ("another version", r"a worker on .* has winnow 9\.9, .* its driver has winnow .*; install the same versions"),
        ("none", "no /nowhere/winnow-boot that it may run"),
    ],
)
def test_a_cluster_whose_workers_cannot_do_the_work_is_told_of_in_a_line(
    tmp_path: Path, boot: str, expected: str
) -> None:
    require_job_server()
    write_lines(tmp_path, rows=20, files=1)
    write_recipe(tmp_path, "spark")
    none = "--environment_options=process_command=/nowhere/winnow-boot"
    command = none if boot == "none" else boot_beside(tmp_path, "9.9")
    with spark_cluster(tmp_path / "cluster", workers=1, memory="700m") as cluster:
        done = run(
            *(tmp_path, "run", "spark.yaml", "--runner", "spark", "--", f"--spark_master_url={cluster.url}"),
            *(command, SMALL_EXECUTORS, *SMALL),
            seconds=900,
        )
    assert done.status == 1
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("winnow: ")
    assert re.search(expected, last), last


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What a person is told; it is one line, and nothing was begun."""
    write_lines(folder, rows=20)
    recipe = write_recipe(folder, "spark")
    assert main(["run", str(recipe), "--runner", "spark", "--", *flags]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("winnow: ")
    assert "\n" not in said
    assert not (folder / "spark").exists()
    return said


def test_a_master_that_is_not_there_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server()
    said = refused(tmp_path, capsys, "--spark_master_url=spark://127.0.0.1:1", boot_beside(tmp_path))
    assert "--spark_master_url: nobody answers at 127.0.0.1:1 (Connection refused); start the master" in said


def test_a_job_server_that_is_not_there_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(tmp_path, capsys, "--job_endpoint=127.0.0.1:1")
    assert "--job_endpoint: nobody answers at 127.0.0.1:1 (Connection refused); start the job server" in said


@pytest.mark.parametrize("address", ["spark://cluster", "spark://cluster:x", "spark://cluster:70000", "spark://"])
def test_a_master_without_a_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    require_job_server()
    assert "expected host:port" in refused(tmp_path, capsys, f"--spark_master_url={address}", boot_beside(tmp_path))


def test_another_kind_of_master_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected local[N] or spark://host:port" in refused(tmp_path, capsys, "--spark_master_url=yarn")


def test_an_unknown_flag_is_refused_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean --spark_master_url?" in refused(tmp_path, capsys, "--spark_master=x")


def test_a_pipeline_that_would_only_be_packed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--output_executable_path" in refused(tmp_path, capsys, "--output_executable_path=job.jar")


def test_without_java_the_remedy_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "holds no bin/java" in refused(tmp_path, capsys)


@pytest.mark.engines
@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--job_port={port}", "a port is taken by another program (--job-port={port})"),
        ("--job_server_jvm_properties=-Xmx1q", "does not start: Invalid maximum heap size: -Xmx1q"),
    ],
)
def test_a_job_server_that_cannot_start_leaves_a_line_and_nothing_else(
    tmp_path: Path, flag: str, expected: str
) -> None:
    require_job_server()
    write_lines(tmp_path, rows=20)
    write_recipe(tmp_path, "spark")
    with taken_port() as port:
        done = run(
            *(tmp_path, "run", "spark.yaml", "--runner", "spark", "--", flag.format(port=port)),
            env={**os.environ, **scratch(tmp_path)},
        )
        assert expected.format(port=port) in done.err.strip().splitlines()[-1]
    assert done.status == 1
    assert left_over(tmp_path) == []
