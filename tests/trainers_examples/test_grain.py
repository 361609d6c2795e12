"""The grain loop of examples/: a run that was stopped and went on is the run that was not."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.export.formats.mixed_rows import export, row
from tests.trainers import ROOT, run_trainer, trainers_python
from winnow.pipelines.export.formats.arrayrecord import FORMAT, ArrayRecordConfig

pytest.importorskip("array_record", reason="winnow[arrayrecord] is not installed")

pytestmark = pytest.mark.large

EXAMPLE = ROOT / "examples" / "grain_arrayrecord.py"
ROWS = [row(number, text=f"The text of sample {number}.", copy=number % 3) for number in range(48)]


def steps(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_run_goes_on_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": [ROWS[:20], ROWS[20:30], ROWS[30:]]})
    (tmp_path / "out/winnow.json").write_text('{"identity": "the first"}')
    whole, first, rest = (tmp_path / f"{name}.jsonl" for name in ("whole", "first", "rest"))
    checkpoint = tmp_path / "run.npz"
    run: list[str | Path] = [tmp_path / "out", "--steps", "8"]
    said = run_trainer(EXAMPLE, [*run, "--log", whole])
    run_trainer(EXAMPLE, [*run, "--log", first, "--stop-after", "4", "--checkpoint", checkpoint])
    resumed = run_trainer(EXAMPLE, [*run, "--log", rest, "--resume", checkpoint])

    assert [one["step"] for one in steps(first)] == [1, 2, 3, 4]
    assert steps(first) + steps(rest) == steps(whole)
    assert resumed.splitlines()[-1] == said.splitlines()[-1]
    assert said.splitlines()[-1].startswith("all samples up to step 8: ")

    names = [name for one in steps(whole) for name in one["samples"]]
    epoch = [f"{number.to_bytes(16, 'big').hex()}-{number % 3}" for number in range(48)]
    assert sorted(names[:48]) == sorted(epoch)  # six batches of eight: each sample once
    assert names[:48] != epoch
    losses = [one["loss"] for one in steps(whole)]
    assert losses[-1] < losses[0]

    # With another mixture in the same folder a place in an epoch says nothing.
    (tmp_path / "out/winnow.json").write_text('{"identity": "the second"}')
    command = [trainers_python(), str(EXAMPLE), str(tmp_path / "out"), "--resume", str(checkpoint)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    made = "run.npz: made with {'output': 'train', 'seed': 0, 'batch_size': 8, 'workers': 2, 'export': 'the first'}"
    assert made in done.stderr
