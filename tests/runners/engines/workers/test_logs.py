"""What workers print is in a file that goes with its driver, or with the next one."""

import os
import subprocess
import sys
from pathlib import Path

import apache_beam as beam
import pytest

from winnow.pipelines.running.processes import started
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.failures import without_step
from winnow.runners.engines.workers.logs import kept_log, worker_log


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_logs_of_drivers_that_are_gone_are_removed(temporary: Path) -> None:
    own = worker_log()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (temporary / f"winnow-workers-{ended.pid}-123-abc.log").write_text("of one that was killed")
    (temporary / f"winnow-workers-{os.getpid()}-1-abc.log").write_text("of one whose number this process has")
    others = [f"winnow-workers-{os.getppid()}-{started(os.getppid())}-abc.log", "winnow-workers-x.log", "notes.log"]
    for name in (*others, f"winnow-workers-{ended.pid}-123-abc.txt"):
        (temporary / name).write_text("of one that runs, or of somebody else")
    another = worker_log()
    kept = {own.name, another.name, *others, f"winnow-workers-{ended.pid}-123-abc.txt"}
    assert {path.name for path in temporary.iterdir()} == kept


def test_a_log_that_an_error_names_is_kept(temporary: Path) -> None:
    log = worker_log()
    named = log.rename(kept_log(log))
    worker_log().unlink()
    assert [path.name for path in temporary.iterdir()] == [named.name]


@pytest.mark.beam
def test_a_run_that_is_killed_leaves_no_folder_of_beam(temporary: Path) -> None:
    """The pipeline is made before its transforms are: what is there by then, a kill would leave there."""
    there: list[str] = []

    def build(pipeline: beam.Pipeline) -> None:
        there.extend(path.name for path in temporary.iterdir())
        pipeline | beam.Create([1])

    Engine("local", 1).run(build)
    assert len(there) == 1
    assert there[0].startswith(f"winnow-workers-{os.getpid()}-")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("the mixture's 'where', or write 'media: none'", "the mixture's 'where', or write 'media: none'"),
        ("write 'key: id' [while running 'Write/ParDo(X)']", "write 'key: id'"),
        ("'key'", "key"),
        ("'a' is not 'b'", "'a' is not 'b'"),
    ],
)
def test_quotes_of_a_message_are_its_own(printed: str, said: str) -> None:
    assert without_step(printed) == said
