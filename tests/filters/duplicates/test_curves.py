"""The S-curve: known values, its means, and the choice of bands, each held against another way to compute it."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from datasketch.lsh import _optimal_param
from datasketch.lsh import integrate as quad  # SciPy's
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.duplicates.curves import (
    best_bands,
    expected_recall,
    false_candidates,
    half_point,
    probabilities,
    probability,
)

shares = st.floats(0, 1)
sizes = st.integers(1, 200)


@pytest.mark.parametrize(
    ("bands", "rows", "half", "at"),
    [
        (14, 8, 0.685, (0.053, 0.211, 0.565, 0.772, 0.924, 0.988, 1.000)),
        (20, 13, 0.771, (0.002, 0.026, 0.177, 0.382, 0.677, 0.924, 0.997)),
        (26, 11, 0.718, (0.013, 0.090, 0.405, 0.674, 0.903, 0.991, 1.000)),
        (450, 20, 0.723, (0.000, 0.016, 0.302, 0.761, 0.995, 1.000, 1.000)),
        (32, 8, 0.619, (0.118, 0.418, 0.850, 0.966, 0.997, 1.000, 1.000)),
        (14, 9, 0.714, (0.027, 0.132, 0.438, 0.665, 0.867, 0.975, 0.999)),
        (9, 13, 0.819, (0.001, 0.012, 0.084, 0.195, 0.399, 0.686, 0.929)),
        (5, 25, 0.921, (0.000, 0.000, 0.001, 0.004, 0.019, 0.083, 0.311)),
        (17, 15, 0.807, (0.001, 0.008, 0.078, 0.204, 0.456, 0.789, 0.980)),
    ],
)
def test_published_curves(bands: int, rows: int, half: float, at: tuple[float, ...]) -> None:
    similarities = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
    assert round(half_point(bands, rows), 3) == half
    assert tuple(round(probability(similarity, bands, rows), 3) for similarity in similarities) == at


def test_one_band_of_one_row_is_the_similarity_itself() -> None:
    assert probability(0.3, 1, 1) == pytest.approx(0.3, rel=1e-15)
    assert half_point(1, 1) == pytest.approx(0.5, rel=1e-15)
    assert expected_recall(1, 1, 0.5) == pytest.approx(0.75, rel=1e-14)
    assert false_candidates(1, 1, 0.5) == pytest.approx(0.25, rel=1e-14)


@given(st.integers(0, 64), st.integers(1, 12), st.integers(1, 12))
def test_the_probability_is_the_exact_one(sixtyfourths: int, bands: int, rows: int) -> None:
    similarity = Fraction(sixtyfourths, 64)
    exact = 1 - (1 - similarity**rows) ** bands
    assert probability(float(similarity), bands, rows) == pytest.approx(float(exact), rel=1e-12)


def test_what_is_rare_keeps_its_digits() -> None:
    assert probability(0.1, 5, 25) == pytest.approx(5e-25, rel=1e-12)  # 1 - (1 - 1e-25)^5 in floats is 0


def test_the_ends() -> None:
    assert [probability(similarity, 14, 8) for similarity in (0, 1)] == [0, 1]
    assert expected_recall(14, 8, 1) == 1
    assert false_candidates(14, 8, 0) == 0
    assert expected_recall(14, 8, 0) == false_candidates(14, 8, 1)


@given(sizes, sizes)
def test_half_of_the_pairs_at_the_half_point_become_candidates(bands: int, rows: int) -> None:
    assert probability(half_point(bands, rows), bands, rows) == pytest.approx(0.5, abs=1e-9)


@given(sizes, sizes, st.lists(shares, min_size=2, max_size=9))
def test_the_more_alike_the_likelier(bands: int, rows: int, similarities: list[float]) -> None:
    found = probabilities(np.array(sorted(similarities)), bands, rows)
    assert (np.diff(found) >= -1e-15).all()
    assert ((found >= 0) & (found <= 1)).all()


@given(sizes, sizes, st.floats(0.001, 0.999))
def test_the_means_on_both_sides_make_up_the_whole_area(bands: int, rows: int, threshold: float) -> None:
    # The area under 1 - (1 - s^r)^b is 1 - B(1/r, b + 1) / r, with Euler's beta function.
    log_beta = math.lgamma(1 / rows) + math.lgamma(bands + 1) - math.lgamma(1 / rows + bands + 1)
    area = 1 - math.exp(log_beta) / rows
    above = (1 - threshold) * expected_recall(bands, rows, threshold)
    below = threshold * false_candidates(bands, rows, threshold)
    assert above + below == pytest.approx(area, abs=1e-11)


@pytest.mark.parametrize(("bands", "rows"), [(1, 10_000), (10_000, 1), (450, 20), (10_000, 1_000), (1, 1_000)])
@pytest.mark.parametrize("threshold", [0.05, 0.75, 0.999])
def test_steep_curves_are_integrated_as_well(bands: int, rows: int, threshold: float) -> None:
    half = half_point(bands, rows)
    turns = sorted({min(max(half ** (2.0**power), threshold), 1.0) for power in range(-12, 5)})

    def area(low: float, high: float) -> float:
        edges = [low, *(turn for turn in turns if low < turn < high), high]
        return sum(float(quad(probability, a, b, (bands, rows), epsabs=1e-13)[0]) for a, b in pairwise(edges))

    assert expected_recall(bands, rows, threshold) == pytest.approx(area(threshold, 1) / (1 - threshold), abs=1e-10)


@settings(max_examples=scaled(80), deadline=None)
@given(st.integers(1, 256), st.integers(0, 100), st.sampled_from([0.5, 0.1, 0.9, 0.01, 0.99]))
def test_bands_are_chosen_as_datasketch_does(hashes: int, percent: int, weight: float) -> None:
    threshold = percent / 100
    chosen = best_bands(hashes, threshold, weight, 1 - weight)
    assert chosen == _optimal_param(threshold, hashes, weight, 1 - weight)


def test_the_choices_of_published_sets() -> None:
    assert [best_bands(128, threshold) for threshold in (0.7, 0.8, 0.9)] == [(14, 9), (9, 13), (5, 25)]  # RedPajama 2
    assert best_bands(256, 0.8) == (17, 15)  # HPLT
    assert best_bands(256, 0.7) == (25, 10)  # Data-Juicer's operator


def test_what_is_no_curve_is_refused() -> None:
    with pytest.raises(ValueError, match="0 bands of 8 rows"):
        half_point(0, 8)
    with assert_refused(ValueError, "expected 0", "1"):
        probability(math.nan, 14, 8)
    with pytest.raises(ValueError, match=r"threshold 1\.5"):
        expected_recall(14, 8, 1.5)
    with pytest.raises(ValueError, match="hashes 0"):
        best_bands(0, 0.8)
    with pytest.raises(ValueError, match="above zero"):
        best_bands(128, 0.8, 1, 0)
