"""What workers print is in a file that goes with its driver."""

from pathlib import Path

import apache_beam as beam
import pytest

from tests.messages import assert_told
from winnow.pipelines.processes import run_folder as run_folder_module
from winnow.pipelines.processes.run_folder import remove_dead_runs, run_folder
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.failures import without_step
from winnow.runners.engines.workers.logs import kept_log, worker_log


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(run_folder_module, "_folder", None)
    return tmp_path


def test_a_log_that_an_error_names_outlives_its_run(temporary: Path) -> None:
    log = worker_log()
    kept = log.rename(kept_log(log))
    assert log.parent == run_folder()
    assert kept.parent == run_folder().parent
    remove_dead_runs()
    assert kept.exists()
    remove_dead_runs(logs=True)
    assert not kept.exists()


@pytest.mark.beam
def test_a_run_that_is_killed_leaves_no_folder_of_beam(temporary: Path) -> None:
    """The pipeline is made before its transforms are: what is there by then, a kill would leave there."""
    there: list[str] = []

    def build(pipeline: beam.Pipeline) -> None:
        there.extend(path.name for path in temporary.rglob("*") if path.is_file())
        pipeline | beam.Create([1])

    Engine("local", 1).run(build)
    assert [name for name in there if not name.startswith("workers-")] == ["guard", "lock"]
    assert len(there) == 3
    assert [path.name for path in temporary.iterdir()] == [run_folder().parent.name], "nothing beside it"


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("the mixture's 'where', or write 'media: none'", "'where' … 'media: none'"),
        ("write 'key: id' [while running 'Write/ParDo(X)']", "write 'key: id'"),
        ("'key'", "key"),
        ("'a' is not 'b'", "'a' is not 'b'"),
    ],
)
def test_quotes_of_a_message_are_its_own(printed: str, said: str) -> None:
    assert_told(without_step(printed), said, whole=True)
