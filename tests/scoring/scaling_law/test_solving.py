"""Slopes are derivatives, and resamples that are solved together are where each would be alone."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tests.scoring.synthetic import DS, NS, TRUTHS, runs
from winnow.scoring.scaling_law.models import LinearModel, Model, bracket_model, share_model
from winnow.scoring.scaling_law.solving import _rough_scale, _solve_one, fitted, huber, refitted, spanned

Floats = NDArray[np.float64]
ROWS = runs({"indic": TRUTHS["indic"]}, 0.005)
START = np.array([[0.3, -1.0, 0.35, -0.8, 0.3, 0.1]])


def test_slopes_are_the_derivatives_of_predictions() -> None:
    models: list[tuple[Model, Floats]] = [
        (bracket_model(ROWS, with_gamma=True), START),
        (bracket_model(ROWS, with_gamma=False), START[:, :5]),
        (share_model(ROWS), np.full((1, 13), 0.2)),
    ]
    for model, theta in models:
        for place in range(theta.shape[1]):
            step = np.zeros_like(theta)
            step[0, place] = 1e-6
            slope = (model.predicted(theta + step) - model.predicted(theta - step)) / 2e-6
            assert model.with_slopes(theta)[1][..., place] == pytest.approx(slope, abs=1e-8)


def test_huber_is_a_square_near_zero_and_linear_beyond() -> None:
    assert huber(np.array([0.0, 0.5, -1.0, 3.0]), 1.0).tolist() == [0.0, 0.125, 0.5, 2.5]


def test_an_optimum_is_that_of_another_solver() -> None:
    model, y, delta = bracket_model(ROWS, with_gamma=True), np.log(ROWS.loss), 0.01
    ours = fitted(model, y, START, delta)
    theirs = least_squares(
        lambda theta: model.predicted(theta[np.newaxis])[0] - y,
        START[0],
        bounds=(model.lower, model.upper),
        loss="huber",
        f_scale=delta,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=5000,
    )
    assert ours.arrived
    assert ours.value <= theirs.cost * (1 + 1e-7)


def test_resamples_solved_together_are_where_each_is_alone() -> None:
    model, y, delta = bracket_model(ROWS, with_gamma=True), np.log(ROWS.loss), 0.01
    own = fitted(model, y, START, delta)
    samples = model.predicted(own.theta[np.newaxis]) + 0.005 * np.random.default_rng(0).standard_normal((12, len(y)))
    together, arrived = refitted(model, own.theta, samples, np.ones((1, len(y))), delta)
    assert arrived.all()
    for theta, sample in zip(together, samples, strict=True):
        alone = fitted(model, sample, own.theta[np.newaxis], delta)
        value = huber(sample - model.predicted(theta[np.newaxis])[0], delta).sum()
        assert value == pytest.approx(alone.value, rel=1e-4)
        assert theta[5] == pytest.approx(alone.theta[5], abs=2e-6)


def test_a_resample_without_a_row_does_not_see_it() -> None:
    model, y, delta = share_model(ROWS), np.log(ROWS.loss), 0.01
    own = fitted(model, y, np.full((1, 13), 0.5), delta).theta
    spoilt, weights = y.copy(), np.ones((1, len(y)))
    spoilt[3] += 5
    weights[0, 3] = 0
    plain = refitted(model, own, y[np.newaxis], weights, delta)[0]
    assert refitted(model, own, spoilt[np.newaxis], weights, delta)[0] == pytest.approx(plain, abs=1e-5)


def test_an_optimum_at_a_bound_stays_within_it() -> None:
    rising = np.log(ROWS.loss) + 0.4 * np.log(ROWS.p)  # a loss that grows with the share
    model = share_model(ROWS)
    found = fitted(model, rising, np.full((1, 13), 0.5), 0.01)
    assert found.theta[0] == model.lower[0]
    again = refitted(model, found.theta, np.stack([rising, rising + 0.001]), np.ones((1, len(rising))), 0.01)[0]
    assert again[:, 0].tolist() == [model.lower[0]] * 2


def test_columns_of_any_size_are_fitted() -> None:
    """From sizes of 1e-3 to 1e3, in whose own units a search has one scale."""
    random = np.random.default_rng(0)
    design = random.standard_normal((200, 4)) * np.array([1e-3, 1.0, 30.0, 1e3])
    bounds = np.full(4, 1e6)
    model = LinearModel(design, -bounds, bounds)
    truth = np.array([500.0, -2.0, 0.1, 0.003])
    y = design @ truth + 0.001 * random.standard_normal(200)
    found = _solve_one(model, y, np.ones(200), np.zeros(4), 0.01, _rough_scale(model, np.zeros(4)))
    assert found.arrived
    own = np.linalg.lstsq(design, y, rcond=None)[0]
    assert found.theta == pytest.approx(own, rel=1e-3)


def test_a_rough_step_changes_predictions_by_one_in_all_but_is_neither_tiny_nor_huge() -> None:
    sizes = np.array([1e-9, 1e-3, 0.5, 1.0, 100.0, 1e3, 1e9])
    design = np.repeat(sizes[np.newaxis], 16, axis=0) / 4  # a column's norm is its size
    model = LinearModel(design, -np.ones(7), np.ones(7))
    assert _rough_scale(model, np.zeros(7)) == pytest.approx([1e3, 1e3, 2, 1, 0.01, 1e-3, 1e-3])
    flat = LinearModel(np.zeros((16, 1)), -np.ones(1), np.ones(1))
    assert _rough_scale(flat, np.zeros(1)) == pytest.approx([1e3])


def test_leverages_sum_to_the_number_of_parameters() -> None:
    model = bracket_model(ROWS, with_gamma=True)
    assert (spanned(model, START[0]) ** 2).sum() == pytest.approx(6)
    assert len(ROWS) == 4 * len(NS) * len(DS)
