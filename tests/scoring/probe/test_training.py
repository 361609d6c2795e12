"""A model is trained, measured and taken up again from a checkpoint, to the last bit as if nothing had happened."""

import importlib.util
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from winnow.scoring.probe.grid import Run, Schedule, Shape
from winnow.scoring.probe.model import logits
from winnow.scoring.probe.streams import Stream
from winnow.scoring.probe.training import (
    RunResult,
    Training,
    checkpoint_bytes,
    deterministic,
    learning_rate,
    restore_checkpoint,
    runs_csv,
)
from winnow.scoring.scaling_law.runs import runs_from_csv

needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in ("torch", "safetensors")),
    reason="pip install 'winnow[torch]'",
)

RUN = Run(
    shape=Shape(2, 16, 2, learning_rate=0.01),
    tokens=32 * 8 * 60,
    shares=(("count", 0.75), ("words", 0.25)),
    seed=1,
    schedule=Schedule(context=32, batch=8),
    held_out_tokens=1024,
)
UNIGRAM = {"count": math.log(10), "words": math.log(5)}


def streams() -> dict[str, Stream]:
    """Digits that count up, and words that repeat: both can be learnt beyond the frequency of their bytes."""
    count = np.frombuffer(b"0123456789" * 800, np.uint8)
    words = np.frombuffer((b"abcd" + bytes(1)) * 1600, np.uint8)
    return {"count": Stream("count", count, count[:2000]), "words": Stream("words", words, words[:2000])}


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """As `winnow law probe` trains."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    with deterministic("cpu", 1):
        yield


def trained(run: Run = RUN, steps: int | None = None) -> Training:
    training = Training(run, streams())
    while not training.finished and training.step != steps:
        training.advance()
    return training


@pytest.mark.torch
@needs_torch
def test_it_learns_more_than_how_frequent_bytes_are() -> None:
    before, after = trained(steps=0).losses(), trained().losses()
    for family in ("count", "words"):
        assert before[family] == pytest.approx(math.log(256), abs=0.5)
        assert after[family] < UNIGRAM[family] / 2


@pytest.mark.torch
@needs_torch
def test_what_it_predicts_follows_from_what_came_before_alone() -> None:
    torch = pytest.importorskip("torch")
    training = trained(steps=5)
    one = torch.arange(32).reshape(1, -1)
    other = one.clone()
    other[0, 20:] = 7
    said = [logits(training.parameters, RUN.shape, tokens) for tokens in (one, other)]
    assert torch.equal(said[0][:, :20], said[1][:, :20])
    assert not torch.equal(said[0][:, 20:], said[1][:, 20:])


@pytest.mark.torch
@needs_torch
def test_equal_runs_give_equal_losses_and_another_seed_gives_others() -> None:
    assert trained(steps=20).losses() == trained(steps=20).losses()
    assert trained(steps=20).losses() != trained(replace(RUN, seed=2), steps=20).losses()


@pytest.mark.torch
@needs_torch
@pytest.mark.parametrize("stopped_at", [1, 17])
def test_a_run_that_goes_on_from_a_checkpoint_is_one_that_never_stopped(stopped_at: int) -> None:
    raw = checkpoint_bytes(trained(steps=stopped_at))
    resumed = Training(RUN, streams())
    assert restore_checkpoint(resumed, raw)
    assert resumed.step == stopped_at
    while not resumed.finished:
        resumed.advance()
    assert resumed.measured("run") == trained().measured("run")


@pytest.mark.torch
@needs_torch
def test_checkpoints_that_are_damaged_or_of_another_run_are_not_taken() -> None:
    raw = checkpoint_bytes(trained(steps=2))
    for wrong in (b"", raw[:-1], raw[:100], b"{}" * 50):
        assert not restore_checkpoint(Training(RUN, streams()), wrong)
    wider = replace(RUN, shape=Shape(2, 32, 2))
    assert not restore_checkpoint(Training(wider, streams()), raw)
    assert not restore_checkpoint(Training(RUN, streams(), threads=2), raw)


@pytest.mark.torch
@needs_torch
def test_n_is_what_the_shape_says() -> None:
    measured = trained(steps=1).measured("run")
    assert measured.n == RUN.shape.parameters
    assert measured.n_total == measured.n + (256 + 32) * 16
    assert measured.d == RUN.d
    assert measured.passes["count"] == pytest.approx(6 / 249, abs=1e-4)  # of 249 windows the first step saw 6


def test_the_rate_rises_to_its_highest_and_falls_to_its_final_share() -> None:
    rates = [learning_rate(RUN, step) for step in range(RUN.steps)]
    assert rates[:3] == pytest.approx([0.01 / 3, 0.02 / 3, 0.01])  # 5 % of 60 steps
    assert max(rates) == rates[2]
    assert rates[-1] == pytest.approx(0.001, abs=1e-4)


def test_the_table_reads_back_without_runs_that_diverged() -> None:
    def measured(name: str, seed: int, losses: dict[str, float]) -> RunResult:
        return RunResult(1, name, 3120, 4000, 9984, seed, {"a, b": 0.75, "c": 0.25}, losses, {}, "2", "cpu", 1)

    text = runs_csv([measured("one", 0, {"a, b": 2.5, "c": 1 / 3}), measured("two", 1, {"c": 2.0})])
    table = runs_from_csv(text)
    assert table.families == ("a, b", "c")
    assert table.run == ("one", "one")
    assert table.loss.tolist() == [2.5, 1 / 3]
    assert (table.n[0], table.d[0], table.p.tolist()) == (3120, 9984, [0.75, 0.25])
    assert table.units.n == "parameters without embeddings"
    assert table.units.d == "bytes of the whole mixture"
    assert table.units.loss == "nats a byte"


def test_pytorch_is_loaded_when_something_is_trained_and_not_before() -> None:
    code = "import sys, winnow.scoring.probe.training, winnow.runners.stages.law.probe; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
