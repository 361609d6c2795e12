"""The examples of training loops: one that was stopped and went on does what one that never stopped does."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.export.formats.mixed_rows import export, row
from tests.trainers import ROOT, run_trainer, short_temporary, trainers_python
from winnow.pipelines.export.formats import mds, webdataset

pytestmark = pytest.mark.large

EXAMPLES = ROOT / "examples"
ROWS = [row(number, text=f"Line {number} of a text. " * 4) for number in range(64)]
SHARDS = [ROWS[start : start + 16] for start in range(0, 64, 16)]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with short_temporary(monkeypatch):
        yield


def steps(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def stopped_and_whole(
    example: str, folder: Path, tmp_path: Path, *, stops: list[str | Path]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The steps of a run that stopped after the eleventh, in the second epoch, and of one that did not."""
    script = EXAMPLES / example
    checkpoint = tmp_path / "run.pt"
    common: list[str | Path] = ["--steps", "20"]
    logs = [tmp_path / f"{name}.jsonl" for name in ("first", "second", "whole")]
    run_trainer(script, [*stops, *common, "--stop-after", "11", "--checkpoint", checkpoint, "--log", logs[0]])
    resumed = run_trainer(script, [*stops, *common, "--resume", checkpoint, "--log", logs[1]])
    unbroken = run_trainer(script, [folder, *common, "--log", logs[2]])
    assert resumed.splitlines()[-1] == unbroken.splitlines()[-1]
    assert unbroken.splitlines()[-1].startswith("all samples up to step 20: ")
    first, second = steps(logs[0]), steps(logs[1])
    assert (len(first), len(second)) == (11, 9)
    return first + second, steps(logs[2])


def check_epochs(whole: list[dict[str, Any]]) -> None:
    """Every sample once in each epoch, in another order."""
    given = [name for one in whole for name in one["samples"]]
    epochs = [given[: len(ROWS)], given[len(ROWS) : 2 * len(ROWS)]]
    names = [f"{number:032x}-0" for number in range(len(ROWS))]
    assert [sorted(epoch) for epoch in epochs] == [names, names]
    assert names != epochs[0] != epochs[1]
    assert whole[-1]["loss"] < whole[0]["loss"]


def test_webdataset_goes_on_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    export(webdataset.FORMAT, webdataset.WebDatasetConfig(), tmp_path / "export", {"train": SHARDS})
    (tmp_path / "export/winnow.json").write_text('{"identity": "the first"}')
    stopped, whole = stopped_and_whole(
        "pytorch_webdataset.py", tmp_path / "export", tmp_path, stops=[tmp_path / "export"]
    )
    assert stopped == whole
    check_epochs(whole)

    # It goes on only with what the order depends on.
    command = [trainers_python(), str(EXAMPLES / "pytorch_webdataset.py"), str(tmp_path / "export"), "--workers", "1"]
    resume = ["--resume", str(tmp_path / "run.pt")]
    done = subprocess.run([*command, *resume], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    made = "run.pt: made with {'output': 'train', 'seed': 0, 'batch_size': 8, 'workers': 2, 'export': 'the first'}"
    assert made in done.stderr

    # With another mixture in the same folder a number of batches says nothing.
    (tmp_path / "export/winnow.json").write_text('{"identity": "the second"}')
    done = subprocess.run([*command[:3], *resume], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert made in done.stderr


def test_mds_goes_on_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    export(mds.FORMAT, mds.MdsConfig(), tmp_path / "plain", {"train": SHARDS})
    export(mds.FORMAT, mds.MdsConfig(compression="zstd"), tmp_path / "packed", {"train": SHARDS})
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("p*/**/*")}
    # Fetched from a packed export, and read in place from a plain one: the same samples in the same order.
    stopped, whole = stopped_and_whole(
        "pytorch_mds.py", tmp_path / "plain", tmp_path, stops=[tmp_path / "packed", "--cache", tmp_path / "cache"]
    )
    assert stopped == whole
    check_epochs(whole)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("p*/**/*")} == before

    # With another mixture in the same folder a place in an epoch says nothing.
    export(mds.FORMAT, mds.MdsConfig(), tmp_path / "other", {"train": SHARDS[::-1]})
    command = [trainers_python(), str(EXAMPLES / "pytorch_mds.py"), str(tmp_path / "other")]
    resume = ["--resume", str(tmp_path / "run.pt")]
    done = subprocess.run([*command, *resume], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "run.pt: made with {'output': 'train', 'seed': 0, 'batch_size': 8, 'export': " in done.stderr
