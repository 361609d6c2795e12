"""The bounds of the upper group's share: of groups far apart, Wilson's interval of the rows on either side."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

from winnow.scoring.selection.clusters import Cluster, Gaussians
from winnow.scoring.selection.share_interval import UNBOUNDED, share_odds

NONE = (-UNBOUNDED, UNBOUNDED)


def apart(share: float = 0.5, widths: tuple[float, float] = (0.001, 0.001)) -> Gaussians:
    """Groups so far from each other that the valley's density is nothing."""
    lower, upper = Cluster(0.0, widths[0], 1 - share), Cluster(1.0, widths[1], share)
    return Gaussians(lower, upper, 0.0, 1.0, 0, converged=True, iterations=1)


def bounds(mixture: Gaussians, below: int, above: int) -> tuple[float, float]:
    """Of so many rows at each peak."""
    return share_odds(mixture, np.array([0.0, 1.0]), np.array([below, above]))


def log_odds(share: float) -> float:
    return math.log(share / (1 - share))


@pytest.mark.parametrize(("below", "above"), [(1, 1), (9, 1), (1, 9), (70, 30), (30_000, 70_000)])
def test_far_apart_they_are_the_ends_of_wilsons_interval(below: int, above: int) -> None:
    theirs = binomtest(above, below + above).proportion_ci(0.95, "wilson")
    assert bounds(apart(), below, above) == pytest.approx((log_odds(theirs.low), log_odds(theirs.high)), rel=1e-9)


@pytest.mark.parametrize("rows", [1, 10, 1000])
def test_rows_of_one_group_alone_leave_one_side_open(rows: int) -> None:
    theirs = [binomtest(count, rows).proportion_ci(0.95, "wilson") for count in (0, rows)]
    low, high = bounds(apart(), rows, 0)
    assert low < -30
    assert high == pytest.approx(log_odds(theirs[0].high), rel=1e-9)
    low, high = bounds(apart(), 0, rows)
    assert low == pytest.approx(log_odds(theirs[1].low), rel=1e-9)
    assert high > 30


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 3.0), (3.0, 1.0)])
def test_one_group_may_be_three_times_as_wide_as_the_other(lower: float, upper: float) -> None:
    limit = lower / 1024, upper / 1024
    assert bounds(apart(widths=limit), 5, 5) == pytest.approx(bounds(apart(), 5, 5))
    wider = tuple(width * (1 + 1e-9) if width == max(limit) else width for width in limit)
    assert bounds(apart(widths=(wider[0], wider[1])), 5, 5) == NONE


def test_a_group_of_less_than_a_hundredth_of_the_rows_is_none() -> None:
    shares = (0.01 - 1e-9, 0.01, 0.99 - 1e-9, 0.99 + 1e-9)
    assert [bounds(apart(share), 5, 5) == NONE for share in shares] == [True, False, False, True]


def test_rows_may_belong_to_the_other_group_as_far_as_the_valley_is_dense() -> None:
    """All of them where the density is less than in the valley: farther out than the peaks, or in the valley itself."""
    shares, widths = np.array([0.6, 0.4]), np.array([0.2, 0.3])

    def density(x: float) -> float:
        return float((shares / widths * np.exp(-(((x - np.array([0.0, 1.0])) / widths) ** 2) / 2)).sum())

    valley = minimize_scalar(density, bounds=(0, 1), method="bounded")
    values, counts = [-0.6, 0.0, 0.3, 0.7, 1.0, 2.5], [30, 400, 20, 10, 300, 40]
    assert 0.3 < valley.x < 0.7
    foreign = [rows * min(1, valley.fun / density(value)) / 800 for value, rows in zip(values, counts, strict=True)]
    assert (foreign[0], foreign[5]) == (30 / 800, 40 / 800)
    ends = _wilson(350 / 800 - sum(foreign[3:]), 800, -1), _wilson(350 / 800 + sum(foreign[:3]), 800, 1)
    found = share_odds(apart(0.4, (0.2, 0.3)), np.array(values), np.array(counts))
    assert found == pytest.approx([log_odds(end) for end in ends], abs=1e-4)


def _wilson(share: float, rows: int, side: int) -> float:
    """The root of (p - share)² = z² p (1 - p) / rows, which is how Wilson defines the ends."""
    z = 1.959963984540054
    roots = np.roots([1 + z**2 / rows, -(2 * share + z**2 / rows), share**2])
    return float(sorted(roots.real)[(side + 1) // 2])


def test_values_may_be_in_any_scale() -> None:
    mixture = apart()
    scaled = Gaussians(mixture.lower, mixture.upper, 0.25, 0.5, 3, converged=True, iterations=1)
    found = share_odds(scaled, np.array([2.0, 6.0]), np.array([3, 5]))
    assert found == pytest.approx(bounds(mixture, 3, 5))
