"""The layers that a training gives: as good as a library's, and the same each time."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]

from winnow.filters.models.heads.head import Head
from winnow.filters.models.training.metrics import evaluate_scores
from winnow.filters.models.training.networks import NetworkSettings, VectorsWithLabels, train_network

ROWS, WIDTH = 3000, 32


def examples(answer: str, *, curved: bool = False) -> tuple[VectorsWithLabels, VectorsWithLabels]:
    noise = np.random.default_rng(0)
    vectors = noise.normal(size=(ROWS, WIDTH))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    worth = 12 * np.abs(vectors[:, 0]) - 1.5 if curved else vectors @ noise.normal(size=WIDTH) * 2
    worth += noise.normal(size=ROWS) * 0.5
    labels = (worth > 0).astype(np.float32) if answer == "probability" else np.clip(worth + 2.5, 0, 5).round()
    parts = (slice(0, 2000), slice(2000, ROWS))
    training, checking = (
        VectorsWithLabels(vectors[part].astype(np.float32), labels[part].astype(np.float32)) for part in parts
    )
    return training, checking


def test_a_linear_head_is_as_good_as_a_logistic_regression() -> None:
    training, checking = examples("probability")
    head = Head(train_network(training, checking, NetworkSettings("probability", 0, 20, 1e-2, 0)), {}, None)
    reference = LogisticRegression(C=1000).fit(training.vectors, training.labels)
    truth = checking.labels > 0
    own = evaluate_scores(head.scores(checking.vectors), truth).auc
    theirs = evaluate_scores(reference.decision_function(checking.vectors), truth).auc
    assert own is not None
    assert theirs is not None
    assert own > theirs - 0.01 > 0.8


def test_a_linear_head_for_grades_is_as_good_as_ridge_regression() -> None:
    training, checking = examples("grade")
    head = Head(train_network(training, checking, NetworkSettings("grade", 0, 20, 1e-2, 0)), {}, None)
    reference = Ridge(0.1).fit(training.vectors, training.labels)
    errors = [
        np.square(made - checking.labels).mean()
        for made in (head.scores(checking.vectors), reference.predict(checking.vectors))
    ]
    assert errors[0] < 1.1 * errors[1] < 0.7


def test_a_hidden_layer_learns_what_a_line_cannot() -> None:
    training, checking = examples("probability", curved=True)
    areas = []
    for hidden in (0, 64):
        layers = train_network(training, checking, NetworkSettings("probability", hidden, 20, 1e-3, 0))
        areas.append(evaluate_scores(Head(layers, {}, None).scores(checking.vectors), checking.labels > 0).auc or 0)
    assert areas[0] < 0.6
    assert areas[1] > 0.85


def test_a_training_can_be_repeated() -> None:
    training, checking = examples("grade")
    settings = NetworkSettings("grade", 16, 2, 1e-3, 7)
    first, second = (train_network(training, checking, settings) for _ in range(2))
    other = train_network(training, checking, NetworkSettings("grade", 16, 2, 1e-3, 8))
    assert all((a[0] == b[0]).all() and (a[1] == b[1]).all() for a, b in zip(first, second, strict=True))
    assert first[0][0] != pytest.approx(other[0][0])
