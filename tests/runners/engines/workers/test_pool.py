"""Workers for engines that request them over the network: processes that end on request, or with their pool."""

import os
import time
from functools import partial
from pathlib import Path

import apache_beam as beam
import psutil
import pytest
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.worker import worker_pool_main

from tests.messages import assert_refused
from tests.runners.engines.commands import boot_pool, boot_script, taken_port
from winnow.pipelines.processes.identity import started
from winnow.pipelines.running.version_handshake import OPTION
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.workers.pool import worker_pool
from winnow.schemas.errors import StageError


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find this file's functions; all tests have the same path, and so the same fork server."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))


def noted(folder: Path, number: int) -> None:
    said = (str(os.getppid()), os.environ.get("OMP_NUM_THREADS", ""), os.environ.get("SAID", ""), os.getcwd())
    (folder / f"{os.getpid()}-{number}").write_text("\n".join(said))


def run_at(address: str, folder: Path, **settings: object) -> list[tuple[int, list[str]]]:
    """What each worker that the pool gave says of itself, with its process id."""
    folder.mkdir()
    options = beam_options(
        [], job_endpoint="embed", environment_type="EXTERNAL", environment_config=address, **settings
    )
    pipeline = beam.Pipeline(runner=PortableRunner(), options=options)
    _ = pipeline | beam.Create([1, 2, 3], reshuffle=False) | beam.Map(partial(noted, folder))
    assert pipeline.run().wait_until_finish(duration=120_000) == "DONE"  # rather than wait for ever
    return [(int(path.name.partition("-")[0]), path.read_text().split("\n")) for path in sorted(folder.iterdir())]


def living(noted_by: list[tuple[int, list[str]]]) -> list[int]:
    return [worker for worker, _ in noted_by if started(worker) is not None]


@pytest.mark.processes
def test_workers_are_forked_processes_in_the_drivers_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAID", "new")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)
    with worker_pool(tmp_path / "log") as (address, _):
        noted_by = run_at(address, tmp_path / "notes")
    fork_servers = [
        one
        for one in psutil.Process().children()
        if one.status() != psutil.STATUS_ZOMBIE and "winnow.pipelines.running.fork_server" in one.cmdline()
    ]
    assert {tuple(said) for _, said in noted_by} == {(str(fork_servers[0].pid), "1", "new", str(tmp_path))}
    assert not living(noted_by)


@pytest.mark.processes
def test_a_pool_makes_its_log_also_where_a_fork_server_runs_already(tmp_path: Path) -> None:
    for number in ("first", "second"):
        with worker_pool(tmp_path / f"{number}.log") as (address, _):
            assert run_at(address, tmp_path / number)


def test_a_worker_of_other_versions_is_refused_in_a_line(tmp_path: Path) -> None:
    with (
        worker_pool(tmp_path / "log") as (address, _),
        pytest.raises(Exception, match=r"StageError: a worker on .* has winnow .*winnow 9\.9;"),
    ):
        run_at(address, tmp_path / "notes", **{OPTION: "winnow 9.9"})


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with (
        taken_port() as port,
        assert_refused(StageError, f"port {port}", "--port"),
        worker_pool(tmp_path / "log", port),
    ):
        pass


def test_boot_is_a_worker_with_one_thread_a_library_in_the_drivers_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    start = worker_pool_main.BeamFnExternalWorkerPoolServicer.start
    address, server = start(use_process=True, container_executable=str(boot_script(tmp_path)))
    try:
        noted_by = run_at(address, tmp_path / "notes", winnow_folder=str(tmp_path))
    finally:
        server.stop(None).wait()
    assert {tuple(said[1:]) for _, said in noted_by} == {("1", "", str(tmp_path))}
    ended_by = time.monotonic() + 30
    while living(noted_by) and time.monotonic() < ended_by:
        time.sleep(0.05)
    assert not living(noted_by)


@pytest.mark.processes
def test_a_pool_on_a_node_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    with boot_pool(tmp_path) as (port, _):
        noted_by = run_at(f"127.0.0.1:{port}", tmp_path / "notes")
    assert not living(noted_by)
