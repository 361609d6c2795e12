"""Calibration: curves of least squares, which rise, and languages that share one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from tests.filters.models.heads.made_heads import curve
from tests.property_sizes import scaled
from winnow.filters.models.heads.curves import (
    ISOTONIC_FROM,
    OWN_CURVE_FROM,
    POOLED,
    calibrated,
    fit_curves,
    isotonic,
    line,
    sigmoid,
)


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), min_size=1, max_size=60))
def test_an_isotonic_curve_passes_the_middles_of_the_steps_of_least_squares(pairs: list[tuple[int, int]]) -> None:
    scores, labels = np.array(pairs, float).T
    found = isotonic(scores, labels)
    steps = IsotonicRegression().fit(scores, labels).predict(scores)
    assert found.values == pytest.approx(np.unique(steps.round(9)))
    middles = [scores[np.isclose(steps, value)].mean() for value in found.values]
    assert found.scores == pytest.approx(middles)
    assert (np.diff(found.scores) > 0).all()


def test_the_order_of_texts_does_not_matter() -> None:
    noise = np.random.default_rng(0)
    scores, labels = noise.normal(size=300), noise.integers(0, 2, 300).astype(float)
    order = noise.permutation(300)
    first, second = isotonic(scores, labels), isotonic(scores[order], labels[order])
    assert (first.scores == second.scores).all()
    assert (first.values == second.values).all()


def test_platts_curve_is_a_logistic_regression() -> None:
    noise = np.random.default_rng(1)
    scores = noise.normal(2, 3, 4000)
    labels = (noise.random(4000) < 1 / (1 + np.exp(1 - scores))).astype(float)
    reference = LogisticRegression(C=1e9).fit(scores[:, None], labels)
    at = np.linspace(-3, 6, 20)
    assert sigmoid(scores, labels)(at) == pytest.approx(reference.predict_proba(at[:, None])[:, 1], abs=0.005)


def test_a_line_for_grades_ends_at_the_lowest_and_the_highest() -> None:
    found = line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert found(np.array([-9.0, 0.5, 9.0])) == pytest.approx([0, 1.5, 5])
    falling = line(np.array([0.0, 1.0]), np.array([4.0, 2.0]))
    assert falling(np.array([-1.0, 5.0])) == pytest.approx([3, 3])


def test_calibrated_probabilities_are_how_often_texts_are_wanted() -> None:
    """Scores that claim too much: of texts with a calibrated probability of p, a share of p is wanted."""
    noise = np.random.default_rng(2)
    truth = noise.random(20_000)
    labels = (noise.random(20_000) < truth).astype(float)
    scores = np.sqrt(truth)
    half = len(scores) // 2
    found = fit_curves("probability", scores[:half], labels[:half], ["eng_Latn"] * half)[POOLED]
    for low in np.arange(0, 1, 0.1):
        values = found(scores[half:])
        own = (values >= low) & (values < low + 0.1)
        assert labels[half:][own].mean() == pytest.approx(values[own].mean(), abs=0.04)


def test_a_language_with_few_labels_shares_the_curve_of_all() -> None:
    noise = np.random.default_rng(3)
    counts = {"eng_Latn": ISOTONIC_FROM, "deu_Latn": OWN_CURVE_FROM, "fra_Latn": OWN_CURVE_FROM - 1, "yor_Latn": 3}
    languages = [name for name, count in counts.items() for _ in range(count)]
    scores = noise.normal(size=len(languages))
    labels = (scores > 0).astype(float)
    labels[:5] = 1 - labels[:5]
    curves = fit_curves("probability", scores, labels, languages)
    assert set(curves) == {POOLED, "deu_Latn", "eng_Latn"}
    one_sided = fit_curves("probability", scores, np.where(np.array(languages) == "deu_Latn", 1.0, labels), languages)
    assert "deu_Latn" not in one_sided


def test_a_rows_curve_is_its_languages() -> None:
    curves = {POOLED: curve((0, 0), (1, 1)), "deu_Latn": curve((0, 5))}
    found = calibrated(curves, np.array([0.5, 0.5, 0.5]), ["deu_Latn", None, "eng_Latn"])
    assert found.tolist() == [5, 0.5, 0.5]
    assert calibrated({}, np.array([7.0]), ["deu_Latn"]).tolist() == [7]
