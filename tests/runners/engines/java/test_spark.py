"""Spark on a standalone cluster, for real: the same mixture as local, deaths during a job, and what is refused."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import await_gone, run, start, tree_hash
from tests.messages import assert_told
from tests.runners.engines.clusters import SparkCluster, processes_under, spark_cluster
from tests.runners.engines.commands import (
    SMALL,
    SMALL_EXECUTORS,
    assert_same,
    boot_beside,
    boot_pool,
    free_port,
    prepared,
    refused,
    require_job_server,
    scratch,
)
from tests.runners.engines.recipes import write_lines, write_recipe
from winnow.runners.engines.backend import Request
from winnow.runners.engines.java.spark import _flags, _service

LOOPBACK = (("SPARK_LOCAL_IP", "127.0.0.1"),)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A folder with the same recipe twice, of which one has been run by `local`."""
    require_job_server("spark")
    prepared(tmp_path, "spark")
    return tmp_path


def first_of(find: Callable[[], list[psutil.Process]], killed: list[int]) -> None:
    """Kill the first process that is found which has begun to work."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for process in find():
            try:
                if process.num_threads() > 6:
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
        killer = threading.Thread(target=first_of, args=(_victims(cluster, victim), killed))
        killer.start()
        flags = [f"--spark_master_url={cluster.url}", boot_beside(both), SMALL_EXECUTORS, SMALL]
        done = run(both, "run", "spark.yaml", "--runner", "spark", "--", *flags, seconds=1500)
        killer.join()
    assert done.status == 0, done.err
    assert len(killed) == 1
    assert_same(both, "spark")
    assert processes_under(both / "cluster") == []


@pytest.mark.engines
def test_a_standalone_cluster_takes_workers_from_the_pool_on_each_machine(tmp_path: Path) -> None:
    require_job_server("spark")
    write_lines(tmp_path)
    for name in ("local", "spark"):
        write_recipe(tmp_path, name)
    expected = run(tmp_path, "ingest", "local.yaml", "--workers", "1")
    assert expected.status == 0, expected.err
    with spark_cluster(tmp_path / "cluster", workers=1, memory="700m") as cluster, boot_pool(tmp_path) as (port, pool):
        workers = ("--environment_type=EXTERNAL", f"--environment_config=localhost:{port}")
        flags = [f"--spark_master_url={cluster.url}", *workers, SMALL_EXECUTORS, SMALL]
        done = run(tmp_path, "ingest", "spark.yaml", "--runner", "spark", "--", *flags, seconds=900)
        assert done.status == 0, done.err
        assert cluster.python_workers() == []
        assert pool.is_running()
        born = pool.children(recursive=True)
    assert born  # by the pool, then, and by nobody else
    assert await_gone(born) == []
    assert tree_hash(tmp_path, "spark/store") == tree_hash(tmp_path, "local/store")


def _victims(cluster: SparkCluster, victim: str) -> Callable[[], list[psutil.Process]]:
    return cluster.executors if victim == "executor" else cluster.python_workers


@pytest.mark.engines
@pytest.mark.parametrize(
    ("boot", "expected"),
    [
        (
            "another version",
            r"a worker on .* has winnow .*, apache-beam 9\.9, .* but its driver has winnow .*; install the same",
        ),
        ("none", "a machine of the cluster cannot run /nowhere/winnow-boot; install winnow there"),
    ],
)
def test_a_cluster_whose_workers_cannot_do_the_work_is_told_of_in_a_line(
    tmp_path: Path, boot: str, expected: str
) -> None:
    require_job_server("spark")
    write_lines(tmp_path, rows=20, files=1)
    write_recipe(tmp_path, "spark")
    none = "--environment_options=process_command=/nowhere/winnow-boot"
    command = none if boot == "none" else boot_beside(tmp_path, "9.9")
    with spark_cluster(tmp_path / "cluster", workers=1, memory="700m") as cluster:
        done = run(
            *(tmp_path, "run", "spark.yaml", "--runner", "spark", "--", f"--spark_master_url={cluster.url}"),
            *(command, SMALL_EXECUTORS, SMALL),
            seconds=900,
        )
    assert done.status == 1
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("winnow: ")
    assert re.search(expected, last), last


def test_a_master_that_is_not_there_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_job_server("spark")
    said = refused(tmp_path, capsys, "spark", ["--spark_master_url=spark://127.0.0.1:1", boot_beside(tmp_path)])
    assert_told(said, "--spark_master_url", "127.0.0.1:1")


@pytest.mark.parametrize("address", ["spark://cluster", "spark://cluster:x", "spark://cluster:70000", "spark://"])
def test_a_master_without_a_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    require_job_server("spark")
    assert "expected host:port" in refused(
        tmp_path, capsys, "spark", [f"--spark_master_url={address}", boot_beside(tmp_path)]
    )


def test_another_kind_of_master_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected local[N] or spark://host:port" in refused(tmp_path, capsys, "spark", ["--spark_master_url=yarn"])


def test_an_unknown_flag_is_refused_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean --spark_master_url?" in refused(tmp_path, capsys, "spark", ["--spark_master=x"])


def test_a_pipeline_that_would_only_be_packed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--output_executable_path" in refused(tmp_path, capsys, "spark", ["--output_executable_path=job.jar"])


@pytest.mark.parametrize(
    ("masters", "expected"),
    [
        ((), LOOPBACK),
        (("local[2]",), LOOPBACK),
        (("spark://127.0.0.1:7077,localhost:7078",), LOOPBACK),
        (("spark://127.0.0.1:7077,10.0.0.1:7077",), ()),
    ],
    ids=["embedded", "local", "loopback", "elsewhere"],
)
def test_sparks_page_is_on_loopback_where_spark_is(masters: tuple[str, ...], expected: tuple[object, ...]) -> None:
    require_job_server("spark")
    request = Request(2, ("--spark_ui_port=4040", *(f"--spark_master_url={one}" for one in masters)))
    service = _service(_flags(request), request)
    assert service.environment == expected
    assert {"-Dspark.ui.port=4040", "-Dspark.ui.killEnabled=false"} <= set(service.jvm)


def listening(port: int) -> set[str]:
    """The addresses on which something listens at a port."""
    found = [one.laddr for one in psutil.net_connections() if one.status == psutil.CONN_LISTEN]
    return {one.ip.removeprefix("::ffff:") for one in found if one and one.port == port}


@pytest.mark.engines
@pytest.mark.parametrize("chosen", ["", "127.0.0.2"], ids=["winnow's", "the user's"])
def test_sparks_page_listens_on_one_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    require_job_server("spark")
    write_lines(tmp_path, rows=300)
    write_recipe(tmp_path, "spark")
    monkeypatch.setenv("TMPDIR", scratch(tmp_path)["TMPDIR"])
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    if chosen:
        monkeypatch.setenv("SPARK_LOCAL_IP", chosen)
    port, found = free_port(), set[str]()
    driver = start(tmp_path, "ingest", "spark.yaml", "--runner", "spark", "--", f"--spark_ui_port={port}")
    while driver.poll() is None and not found:
        found = listening(port)
        time.sleep(0.05)
    assert driver.wait(240) == 0
    assert found == {chosen or "127.0.0.1"}
