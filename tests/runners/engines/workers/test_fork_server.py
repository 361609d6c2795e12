"""Workers of this machine are forked from one process that lives as long as its driver.

It takes seconds to start, so the tests share one, and those that end it come last.
"""

import os
import re
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import apache_beam as beam
import psutil
import pytest
from apache_beam.runners.pipeline_context import PipelineContext
from apache_beam.runners.portability.fn_api_runner.fn_runner import ExtendedProvisionInfo
from apache_beam.runners.portability.fn_api_runner.worker_handlers import WorkerHandlerManager

from winnow.filters.duplicates.normal_form import forms
from winnow.pipelines.processes.identity import started
from winnow.pipelines.running.fork_server import WorkerRequest
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.workers.fork_server import FORK_SERVER
from winnow.runners.engines.workers.forked import worker_environment
from winnow.runners.stages.running.stage_run import Clock
from winnow.schemas.errors import WinnowError

pytestmark = pytest.mark.processes


def noted(folder: Path, number: int) -> None:
    print("a worker's word", flush=True)
    said = (str(os.getppid()), os.getcwd(), os.environ.get("SAID", ""))
    (folder / f"{os.getpid()}-{number}").write_text("\n".join(said))


def notes(folder: Path) -> list[list[str]]:
    """What the workers of one pipeline say: the process id of their parent, where they are, a variable."""
    folder.mkdir()
    Engine("local", 2).run(partial(build, folder))
    return [path.read_text().split("\n") for path in sorted(folder.iterdir())]


def build(folder: Path, pipeline: beam.Pipeline) -> object:
    return pipeline | beam.Create([1, 2, 3]) | beam.Map(partial(noted, folder))


def fork_servers() -> list[psutil.Process]:
    alive = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if "winnow.pipelines.running.fork_server" in child.cmdline()]


def childless(process: psutil.Process, seconds: float = 10) -> bool:
    """Whether its children are buried, before long: their parent may be about something that takes a moment."""
    end = time.monotonic() + seconds
    while process.children() and time.monotonic() < end:
        time.sleep(0.01)
    return not process.children()


def test_one_fork_server_serves_every_pipeline_and_its_workers_end_with_theirs_and_are_where_the_driver_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FORK_SERVER.close()  # another test's may have begun in a folder from which these tests cannot be imported
    first = notes(tmp_path / "first")
    (server,) = fork_servers()
    assert childless(server)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAID", "new")
    second = notes(tmp_path / "second")
    assert {parent for parent, _, _ in first + second} == {str(server.pid)}
    assert {(folder, said) for _, folder, said in second} == {(str(tmp_path), "new")}


def test_workers_without_a_task_are_not_started_and_a_single_one_is_not_the_command_itself(tmp_path: Path) -> None:
    folder = tmp_path / "few"
    folder.mkdir()
    Engine("local", 16).run(partial(build, folder), tasks=1)
    assert len(list(folder.iterdir())) == 3  # all in one process
    (worker,) = {path.name.partition("-")[0] for path in folder.iterdir()}
    assert worker != str(os.getpid())


def burnt(_: int) -> None:
    until = time.process_time() + 0.5
    while time.process_time() < until:
        pass


def build_burnt(pipeline: beam.Pipeline) -> object:
    return pipeline | beam.Create([1, 2]) | beam.Map(burnt)


def test_a_stage_has_the_cpu_time_of_its_workers() -> None:
    clock = Clock(Engine("local", 2))
    here = time.process_time()
    Engine("local", 2).run(build_burnt)

    def of_workers() -> float:
        counted = clock.ran(["task"]).cpu_seconds
        assert counted is not None
        return counted - (time.process_time() - here)

    until = time.monotonic() + 30
    while of_workers() <= 0.9 and time.monotonic() < until:  # a worker's time counts when it has ended
        time.sleep(0.05)
    assert of_workers() > 0.9
    assert Clock(Engine("spark", 2)).ran(["task"]).cpu_seconds is None


def known(folder: Path, number: int) -> None:
    (folder / f"{os.getpid()}-{number}").write_text(str(forms.cache_info().currsize))


def build_known(folder: Path, pipeline: beam.Pipeline) -> object:
    return pipeline | beam.Create([1, 2, 3]) | beam.Map(partial(known, folder))


def test_while_nobody_asks_it_makes_the_tables_that_each_worker_would(tmp_path: Path) -> None:
    notes(tmp_path / "first")
    found: set[str] = set()
    end = time.monotonic() + 60
    while found != {"1"} and time.monotonic() < end:
        time.sleep(0.5)
        (tmp_path / "next").mkdir(exist_ok=True)
        Engine("local", 2).run(partial(build_known, tmp_path / "next"))
        found = {path.read_text() for path in (tmp_path / "next").iterdir()}
        for path in (tmp_path / "next").iterdir():
            path.unlink()
    assert found == {"1"}


def test_what_a_worker_prints_stays_in_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    notes(tmp_path / "first")
    assert capfd.readouterr() == ("", "")


def test_a_pipeline_that_is_interrupted_before_its_worker_has_connected_ends_it(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    environment = worker_environment(tmp_path / "log").to_runner_api(PipelineContext())
    workers = WorkerHandlerManager({"forked": environment}, ExtendedProvisionInfo())
    workers.get_worker_handlers("forked", 1)
    closing = threading.Thread(target=workers.close_all, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()


def test_a_worker_that_is_born_when_its_run_is_over_makes_no_log_anew(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notes(tmp_path / "first")  # the fork server runs, and its own log is another
    log = tmp_path / "gone.log"
    process = FORK_SERVER.worker(WorkerRequest(dict(os.environ), str(tmp_path), str(log)))
    end = time.monotonic() + 30
    while started(process) is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert started(process) is None
    assert not log.exists()
    assert capfd.readouterr() == ("", "")


def test_one_that_was_killed_and_one_for_other_packages_are_replaced_and_none_is_left_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(tmp_path / "first")
    (killed,) = fork_servers()
    killed.send_signal(signal.SIGKILL)
    killed.wait(30)
    parents = {parent for parent, _, _ in notes(tmp_path / "second")}
    (server,) = fork_servers()
    assert parents == {str(server.pid)}
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert {parent for parent, _, _ in notes(tmp_path / "third")} != parents
    assert not server.is_running()
    FORK_SERVER.close()
    assert fork_servers() == []


def test_no_fork_server_at_all_is_an_error_of_one_line_and_its_words_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho this Python finds nothing >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(WinnowError) as caught:
        notes(tmp_path / "first")
    said = re.fullmatch(r"no worker process could be started \(workers' log: (.*\.log)\)", str(caught.value))
    assert said
    log = Path(said[1])
    assert "Python" in log.read_text()
    log.unlink()
