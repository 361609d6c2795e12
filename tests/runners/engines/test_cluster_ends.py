"""Clusters that are killed during a job, or grant no resources: the user is informed, and nothing is left behind."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import run, tree_hash
from tests.runners.engines.clusters import SparkCluster, processes_under, spark_cluster
from tests.runners.engines.commands import (
    SMALL,
    SMALL_EXECUTORS,
    assert_no_files,
    boot_beside,
    left_over,
    require_job_server,
    scratch,
)
from tests.runners.engines.flink_cluster import session_cluster
from tests.runners.engines.recipes import write_lines, write_recipe

pytestmark = pytest.mark.engines


class Driver:
    """A command that runs, and what it says."""

    def __init__(self, folder: Path, engine: str, *flags: str) -> None:
        self._out, self._err = folder / "out", folder / "err"
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self._process = psutil.Popen(
                [sys.executable, "-m", "winnow", "ingest", f"{engine}.yaml", "--runner", engine, "--", *flags],
                cwd=folder,
                env={**psutil.Process().environ(), **scratch(folder)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_running():
            self._process.kill()
        self._process.wait()

    def until(self, happened: Callable[[], object], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not happened():
            assert self._process.poll() is None, self.err
            assert time.monotonic() < end, self.out
            time.sleep(0.1)

    def ended(self, seconds: float = 300) -> int:
        status: int = self._process.wait(seconds)
        return status

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()


def on_spark(folder: Path, cluster: SparkCluster, *flags: str) -> Driver:
    master = f"--spark_master_url={cluster.url}"
    return Driver(folder, "spark", master, boot_beside(folder), SMALL_EXECUTORS, SMALL, *flags)


def test_a_spark_cluster_that_goes_away_in_mid_job_ends_the_run(tmp_path: Path) -> None:
    require_job_server("spark")
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, "spark")
    with (
        spark_cluster(tmp_path / "cluster", workers=1, memory="700m") as cluster,
        on_spark(tmp_path, cluster) as driver,
    ):
        driver.until(lambda: any(one.num_threads() > 6 for one in cluster.python_workers()))
        for process in processes_under(tmp_path / "cluster"):
            process.kill()
        assert driver.ended() == 1
    assert "spark  the master and all executors are lost; the run ends in 30 s unless they return" in driver.out
    assert driver.err == (
        "winnow: the Spark cluster lost its master and all executors; committed work is kept, run the same "
        "command again once it is up\n"
    )
    assert left_over(tmp_path) == []
    assert_no_files(tmp_path)


def test_a_spark_cluster_without_room_is_waited_for_in_a_line_until_it_has_some(tmp_path: Path) -> None:
    require_job_server("spark")
    write_lines(tmp_path, rows=20, files=1)
    write_recipe(tmp_path, "spark")
    with spark_cluster(tmp_path / "cluster", workers=1, memory="400m") as cluster:
        with on_spark(tmp_path, cluster) as driver:
            driver.until(lambda: "waiting" in driver.out)
            assert "spark  waiting: the cluster grants no executor of 500m of memory and 1 core; its" in driver.out
            cluster.add_worker(memory="700m")
            assert driver.ended() == 0, driver.err
        assert "spark  the cluster granted executors; the run continues" in driver.out


def test_a_spark_cluster_without_workers_is_waited_for_no_longer_than_the_user_says(tmp_path: Path) -> None:
    require_job_server("spark")
    write_lines(tmp_path, rows=20, files=1)
    write_recipe(tmp_path, "spark")
    with (
        spark_cluster(tmp_path / "cluster", workers=0) as cluster,
        on_spark(tmp_path, cluster, "--resource_wait_seconds=20") as driver,
    ):
        assert driver.ended() == 1
    assert driver.err == (
        "winnow: the Spark cluster gave no executor of 500m of memory and 1 core within 20 s; committed work "
        "is kept, run the same command again later\n"
    )
    assert left_over(tmp_path) == []


def test_a_flink_cluster_that_goes_away_in_mid_job_ends_the_run(tmp_path: Path) -> None:
    require_job_server("flink")
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, "flink")
    with (
        session_cluster(tmp_path / "cluster") as cluster,
        Driver(tmp_path, "flink", f"--flink_master={cluster.master}", boot_beside(tmp_path)) as driver,
    ):
        driver.until(lambda: "RUNNING" in cluster.jobs().values())
        cluster.job_manager.kill()
        assert driver.ended() == 1
    assert driver.err == (
        f"winnow: --flink_master={cluster.master}: lost the connection to the cluster during the job; committed work "
        f"is kept, run the same command again once it is up\n"
    )
    assert left_over(tmp_path) == []


def test_a_task_manager_that_is_killed_is_done_without(tmp_path: Path) -> None:
    require_job_server("flink")
    write_lines(tmp_path, rows=3000)
    write_recipe(tmp_path, "local")
    write_recipe(tmp_path, "flink")
    assert run(tmp_path, "ingest", "local.yaml").status == 0
    with (
        session_cluster(tmp_path / "cluster", slots=1, task_managers=2) as cluster,
        Driver(tmp_path, "flink", f"--flink_master={cluster.master}", boot_beside(tmp_path)) as driver,
    ):
        driver.until(lambda: list((tmp_path / "flink/store").glob("commits/samples/*/*")))
        kill_with_all(cluster.others[0])
        assert driver.ended() == 0, driver.out + driver.err
    assert tree_hash(tmp_path, "flink/store") == tree_hash(tmp_path, "local/store")


def kill_with_all(task_manager: subprocess.Popen[bytes]) -> None:
    """End a machine: its TaskManager, and the workers that this started."""
    process = psutil.Process(task_manager.pid)
    for one in (process, *process.children(recursive=True)):
        one.kill()


def test_a_flink_cluster_without_enough_slots_is_waited_for_in_a_line(tmp_path: Path) -> None:
    require_job_server("flink")
    write_lines(tmp_path, rows=20)
    write_recipe(tmp_path, "flink")
    with session_cluster(tmp_path / "cluster", slot_request_timeout="5000") as cluster:
        flags = (f"--flink_master={cluster.master}", boot_beside(tmp_path), "--parallelism=3")
        with Driver(tmp_path, "flink", *flags) as driver:
            status = driver.ended()
            assert "flink  waiting: 2 of the 3 slots that the job needs are free; Flink fails a job" in driver.out
            assert driver.err.splitlines()[-1] == (
                "winnow: Flink has fewer free slots than the job's parallelism: free some slots, start TaskManagers, "
                "or run "
                "with a smaller --parallelism after '--'"
            )
    assert status == 1
    assert left_over(tmp_path) == []
