"""Two clusters of numbers, against trying every cut and against scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.scoring.selection.clusters import Gaussians, two_gaussians, two_means
from winnow.scoring.selection.ranks import Floats

SMALL = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=14).filter(lambda v: len(set(v)) > 1)


def _mixture(rows: int, seed: int = 0) -> Floats:
    """Three tenths around -2, the others around 1."""
    random = np.random.default_rng(seed)
    low = random.random(rows) < 0.3
    return np.where(low, random.normal(-2, 1, rows), random.normal(1, 0.6, rows))


def _cut(scores: Floats) -> tuple[Floats, int | None]:
    values, counts = np.unique(scores, return_counts=True)
    return values, two_means(values, counts)


def _fit(scores: Floats, blocks: int = 4096) -> Gaussians:
    values, counts = np.unique(scores, return_counts=True)
    found = two_gaussians(values, counts, blocks)
    assert found is not None
    return found


def _squares(*clusters: Floats) -> float:
    return math.fsum(math.fsum((cluster - cluster.mean()) ** 2) for cluster in clusters if len(cluster))


@settings(deadline=None, derandomize=True)
@given(SMALL)
def test_no_cut_has_a_smaller_sum_of_squares(scores: list[float]) -> None:
    rows = np.array(scores)
    values, cut = _cut(rows)
    assert cut is not None
    of_each = [_squares(rows[rows < value], rows[rows >= value]) for value in values[1:]]
    assert of_each[cut - 1] == pytest.approx(min(of_each), rel=1e-9, abs=1e-9)
    # The lowest of the cuts that are equally good.
    assert all(worse > min(of_each) + 1e-9 for worse in of_each[: cut - 1])


@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e300, -1.0])
def test_the_cut_does_not_depend_on_the_scale(scale: float) -> None:
    assert _cut(np.array([0.0, 1.0, 1.5, 7.0, 8.0]) * scale)[1] == (3 if scale > 0 else 2)


def test_one_value_has_no_cut() -> None:
    assert _cut(np.array([3.0, 3.0]))[1] is None
    assert two_gaussians(np.array([3.0]), np.array([2])) is None


def test_kmeans_agrees_with_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="needs scikit-learn")
    scores = _mixture(3000)
    values, cut = _cut(scores)
    assert cut is not None
    oracle = cluster.KMeans(2, n_init=10, random_state=0, tol=0).fit(scores.reshape(-1, 1))
    upper = oracle.labels_ == int(oracle.cluster_centers_.argmax())
    assert np.array_equal(upper, scores >= values[cut])
    assert _squares(scores[~upper], scores[upper]) == pytest.approx(oracle.inertia_)


def test_gmm_agrees_with_scikit_learn() -> None:
    mixture = pytest.importorskip("sklearn.mixture", reason="needs scikit-learn")
    scores = _mixture(3000)
    found = _fit(scores)
    oracle = mixture.GaussianMixture(2, tol=1e-10, max_iter=5000, reg_covar=0, random_state=0).fit(
        scores.reshape(-1, 1)
    )
    order = oracle.means_.ravel().argsort()
    for cluster, number in zip(found.clusters(), order, strict=True):
        assert cluster.mean == pytest.approx(oracle.means_[number, 0], abs=1e-4)
        assert cluster.deviation == pytest.approx(oracle.covariances_[number, 0, 0] ** 0.5, abs=1e-4)
        assert cluster.share == pytest.approx(oracle.weights_[number], abs=1e-4)
    likely = oracle.predict_proba(scores.reshape(-1, 1))[:, order[1]]
    assert found.posterior(scores, monotone=False) == pytest.approx(likely, abs=1e-3)


def test_blocks_give_what_all_values_give() -> None:
    scores = _mixture(40_000)
    whole, joined = _fit(scores, blocks=10**6), _fit(scores, blocks=4096)
    for one, other in zip(whole.clusters(), joined.clusters(), strict=True):
        assert (other.mean, other.deviation, other.share) == pytest.approx(
            (one.mean, one.deviation, one.share), abs=1e-4
        )
    assert whole.converged
    assert joined.converged


def test_known_mixture_is_found() -> None:
    lower, upper = _fit(_mixture(100_000)).clusters()
    assert (lower.mean, lower.deviation, lower.share) == pytest.approx((-2, 1, 0.3), abs=0.03)
    assert (upper.mean, upper.deviation, upper.share) == pytest.approx((1, 0.6, 0.7), abs=0.03)


def test_no_mixture_nearby_is_likelier() -> None:
    scores = _mixture(2000)
    x, low = (scores - scores.min()) / np.ptp(scores), _fit(scores)
    assert low.lower.share + low.upper.share == pytest.approx(1)
    density = [
        one.share * np.exp(-(((x - one.mean) / one.deviation) ** 2) / 2) / one.deviation
        for one in (low.lower, low.upper)
    ]
    best = np.log(density[0] + density[1]).sum()
    random = np.random.default_rng(0)
    for _ in range(200):  # nowhere near is better
        moved = [
            (one.mean + random.normal(0, 0.003), one.deviation * math.exp(random.normal(0, 0.03)))
            for one in (low.lower, low.upper)
        ]
        share = min(max(low.lower.share + random.normal(0, 0.01), 0.01), 0.99)
        trial = sum(
            weight * np.exp(-(((x - mean) / deviation) ** 2) / 2) / deviation
            for weight, (mean, deviation) in zip((share, 1 - share), moved, strict=True)
        )
        assert np.log(trial).sum() <= best + 1e-6


def test_the_wider_cluster_does_not_take_the_other_end() -> None:
    random = np.random.default_rng(0)
    wide, narrow = random.normal(-2, 2, 3000), random.normal(1, 0.2, 7000)
    found = _fit(np.concatenate([wide, narrow]))
    at = np.array([-3.0, 1.0, 5.0])
    assert (found.posterior(at, monotone=False) > 0.5).tolist() == [False, True, False]  # 5 is far above both
    assert (found.posterior(at, monotone=True) > 0.5).tolist() == [False, True, True]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_a_higher_score_is_never_less_likely_to_be_kept(scores: list[float]) -> None:
    values, counts = np.unique(np.array(scores), return_counts=True)
    found = two_gaussians(values + 0.0, counts)
    if found is not None:
        likely = found.posterior(values, monotone=True)
        assert np.isfinite(likely).all()
        assert (np.diff(likely) >= -1e-9).all()


def test_two_points_are_two_clusters() -> None:
    found = _fit(np.array([-1.0, 4.0]))
    assert [(one.mean, one.share) for one in found.clusters()] == [(-1, 0.5), (4, 0.5)]
    assert found.posterior(np.array([-1.0, 4.0]), monotone=True).tolist() == pytest.approx([0, 1])


def test_a_spike_of_equal_scores_has_a_width() -> None:
    found = _fit(np.concatenate([np.zeros(500), np.random.default_rng(0).normal(3, 1, 500)]))
    lower, upper = found.clusters()
    assert 0 < lower.deviation < 0.01
    assert (lower.share, upper.mean) == pytest.approx((0.5, 3), abs=0.1)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e300])
def test_no_scale_overflows(scale: float) -> None:
    scores = _mixture(500)
    plain, scaled = _fit(scores), _fit(scores * scale)
    assert scaled.clusters()[1].mean == pytest.approx(plain.clusters()[1].mean * scale, rel=1e-3)
    assert scaled.posterior(scores * scale, monotone=True) == pytest.approx(
        plain.posterior(scores, monotone=True), abs=1e-3
    )
