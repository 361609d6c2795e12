"""The benchmark's noise, runs and detection are what its text says."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.mimic.embeddings import Embedded
from benchmarks.mimic.runs import Trace, detections, f1, noisy, predicted, reference_of, run, settings_of
from winnow.scoring.linear.head import BIAS, WEIGHT


@pytest.mark.parametrize("share", [0.3, 0.45, 0.7])
def test_noise_moves_so_many_labels_rounded_down_each_to_another_class(share: float) -> None:
    labels = np.arange(103) % 7
    given = noisy(labels, 7, share, 5)
    assert int(given.wrong.sum()) == int(share * 103)
    assert (given.wrong == (given.labels != labels)).all()
    assert set(given.labels.tolist()) <= set(range(7))


def test_noise_follows_from_its_seed() -> None:
    labels = np.arange(50) % 5
    assert (noisy(labels, 5, 0.5, 1).labels == noisy(labels, 5, 0.5, 1).labels).all()
    assert (noisy(labels, 5, 0.5, 1).labels != noisy(labels, 5, 0.5, 2).labels).any()


def test_f1_counts_what_is_held_and_what_is_wrong() -> None:
    wrong = np.array([True, True, True, False, False])
    assert f1(wrong, wrong) == 100
    assert f1(np.array([True, False, False, True, False]), wrong) == 40  # 2 * 1 / (2 + 3)
    assert f1(np.zeros(5, np.bool_), wrong) == 0


def two_kinds(count: int) -> Embedded:
    """Points on two sides of a line, far apart."""
    labels = np.arange(count) % 2
    points = np.random.default_rng(0).standard_normal((count, 3)).astype(np.float32)
    points[:, 0] += np.where(labels == 1, 12, -12)
    return Embedded("points", points, labels, points[:40], labels[:40])


def test_a_run_tells_every_samples_weight_once_an_epoch() -> None:
    of = two_kinds(100)
    settings = replace(settings_of("mimic", 1), epochs=3)
    trace = run(of, of.train_labels, settings, reference_of(of)).trace
    assert trace.weights.shape == trace.batches.shape == trace.scores.shape == (100, 3)
    for epoch in range(3):
        sums = np.bincount(trace.batches[:, epoch] - 4 * epoch, trace.weights[:, epoch])
        assert sums == pytest.approx([1, 1, 1, 1])  # 32 + 32 + 32 + 4 samples


def test_a_reference_that_knows_finds_what_is_wrong() -> None:
    of = two_kinds(400)
    given = noisy(of.train_labels, 2, 0.4, 3)
    # Where the line is, and a start that does not know: the score is then all the reference's.
    reference = {WEIGHT: np.array([[-1, 0, 0], [1, 0, 0]], np.float32), BIAS: np.zeros(2, np.float32)}
    assert (predicted(reference, of.test) == of.test_labels).all()
    found = detections(run(of, given.labels, settings_of("mimic", 1), reference).trace, given.wrong)
    for rule in ("threshold", "kmeans"):
        for how in ("majority", "label_model"):
            assert found["scores", rule, how].f1 == 100
            assert found["scores", rule, how].quality == pytest.approx(0.6, abs=0.001)


def test_constant_weights_find_nothing() -> None:
    batches = np.zeros((32, 3), np.int64)
    trace = Trace(np.full((32, 3), 1 / 32), batches, np.ones((32, 3)))
    found = detections(trace, np.arange(32) < 12)
    assert {one.f1 for (_, rule, _), one in found.items() if rule != "threshold"} == {0.0}
