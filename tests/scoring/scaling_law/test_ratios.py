"""The optimum of the convex dual, against SciPy's SLSQP and against what the mathematics says of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.messages import assert_refused
from winnow.schemas.errors import WinnowError
from winnow.scoring.scaling_law.ratios import (
    closed_form,
    iterated,
    objective,
    optimal_shares,
    optimal_shares_with_repeats,
)
from winnow.scoring.scaling_law.repeats import effective_tokens

Floats = NDArray[np.float64]
FAMILIES = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.005, 1.9)), min_size=1, max_size=8)


def columns(families: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    k, gammas = np.array(families).T
    return k, gammas


@given(FAMILIES, st.floats(0.05, 1))
def test_shares_sum_and_gains_are_equal(families: list[tuple[float, float]], total: float) -> None:
    k, gammas = columns(families)
    shares = optimal_shares(k, gammas, total)
    assert shares.sum() == pytest.approx(total, rel=1e-12)
    gains = np.log(k * gammas) - (1 + gammas) * np.log(shares)
    assert gains == pytest.approx(np.full(len(k), gains[0]), abs=1e-9)


@given(FAMILIES, st.randoms(use_true_random=False))
def test_an_order_of_families_changes_nothing(
    families: list[tuple[float, float]], random: "np.random.Generator"
) -> None:
    k, gammas = columns(families)
    order = list(range(len(k)))
    random.shuffle(order)
    assert optimal_shares(k[order], gammas[order]) == pytest.approx(optimal_shares(k, gammas)[order], rel=1e-11)


@given(FAMILIES, st.floats(1.01, 50))
def test_more_weight_is_a_larger_share_and_less_for_each_other(families: list[tuple[float, float]], by: float) -> None:
    k, gammas = columns([*families, (1.0, 0.1)])
    heavier = k.copy()
    heavier[0] *= by
    before, after = optimal_shares(k, gammas), optimal_shares(heavier, gammas)
    assert after[0] > before[0]
    assert (after[1:] < before[1:] * (1 + 1e-12)).all()


@pytest.mark.parametrize("draw", range(8))
def test_slsqp_from_many_starts_finds_nothing_better(draw: int) -> None:
    rng = np.random.default_rng(draw)
    count = int(rng.integers(2, 7))
    k, gammas = rng.uniform(0.5, 4, count), rng.uniform(0.03, 0.6, count)
    caps = rng.uniform(1.2 / count, 1, count) if draw % 2 else None
    ours = optimal_shares(k, gammas, 1.0, caps)
    theirs = _slsqp(lambda p: float(objective(k, gammas, p)), count, caps, rng)
    assert objective(k, gammas, ours) <= objective(k, gammas, theirs) + 1e-9
    assert ours == pytest.approx(theirs, abs=2e-4)


@pytest.mark.parametrize("draw", range(4))
def test_with_repeats_slsqp_finds_nothing_better_either(draw: int) -> None:
    rng = np.random.default_rng(draw)
    k, gammas, unique = rng.uniform(0.5, 4, 4), rng.uniform(0.05, 0.4, 4), rng.uniform(0.002, 0.3, 4)

    def loss(p: Floats) -> float:
        return float(objective(k, gammas, effective_tokens(p, unique)))

    ours = optimal_shares_with_repeats(k, gammas, unique)
    theirs = _slsqp(loss, 4, None, rng)
    assert ours.sum() == pytest.approx(1, rel=1e-12)
    assert loss(ours) <= loss(theirs) + 1e-9
    assert ours == pytest.approx(theirs, abs=2e-3)


def test_repeats_change_nothing_where_there_is_enough_of_everything() -> None:
    k, gammas = np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.2, 0.05])
    assert optimal_shares_with_repeats(k, gammas, np.ones(3)) == pytest.approx(optimal_shares(k, gammas), rel=1e-9)


def test_the_closed_form_is_the_optimum_of_equal_exponents() -> None:
    k, gammas = np.array([1.0, 2.0, 5.0]), np.full(3, 0.12)
    assert closed_form(k, gammas) == pytest.approx(optimal_shares(k, gammas), rel=1e-12)


def test_the_closed_form_is_near_where_exponents_are() -> None:
    k, gammas = np.ones(5), np.array([0.0825, 0.1028, 0.15, 0.0825, 0.0781])
    optimum = optimal_shares(k, gammas)
    assert closed_form(k, gammas) == pytest.approx(optimum, abs=0.016)
    assert gammas / gammas.sum(axis=-1, keepdims=True) == pytest.approx(optimum, abs=0.015)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.005, 0.8)), min_size=1, max_size=8))
def test_the_iterative_form_arrives_at_the_optimum(families: list[tuple[float, float]]) -> None:
    k, gammas = columns(families)
    assert iterated(k, gammas) == pytest.approx(optimal_shares(k, gammas), abs=1e-9)


def test_many_problems_are_solved_at_once() -> None:
    rng = np.random.default_rng(0)
    k, gammas = rng.uniform(0.5, 4, (7, 3)), rng.uniform(0.03, 0.6, (7, 3))
    together = optimal_shares(k, gammas)
    assert together == pytest.approx(np.array([optimal_shares(*one) for one in zip(k, gammas, strict=True)]), rel=1e-12)


def test_caps_hold_and_the_rest_is_shared_out() -> None:
    shares = optimal_shares(np.ones(3), np.full(3, 0.1), 1.0, np.array([0.1, 1.0, 1.0]))
    assert shares == pytest.approx([0.1, 0.45, 0.45], rel=1e-12)
    assert optimal_shares(np.ones(2), np.full(2, 0.1), 1.0, np.array([0.4, 0.6])) == pytest.approx([0.4, 0.6])


@pytest.mark.parametrize(
    ("k", "gammas", "total", "caps", "message"),
    [
        ([1.0, -1.0], [0.1, 0.1], 1.0, None, "expected numbers above"),
        ([1.0, 1.0], [0.1, 0.0], 1.0, None, "exponents: expected numbers above zero"),
        ([1.0, np.nan], [0.1, 0.1], 1.0, None, "weights times losses"),
        ([1.0, 1.0], [0.1, 0.1], 1.5, None, "total 1.5 … above 0 … 1"),
        ([1.0, 1.0], [0.1, 0.1], 1.0, [0.2, 0.3], "caps leave … 0.5 of 1"),
        ([1.0, 1.0], [0.1, 0.1], 1.0, [0.0, 1.0], "caps: expected numbers above zero"),
        ([], [], 1.0, None, "weights times losses"),
    ],
)
def test_what_has_no_optimum_is_refused(
    k: list[float], gammas: list[float], total: float, caps: list[float] | None, message: str
) -> None:
    with assert_refused(WinnowError, message):
        optimal_shares(np.array(k), np.array(gammas), total, None if caps is None else np.array(caps))


def _slsqp(loss: "object", count: int, caps: Floats | None, rng: np.random.Generator) -> Floats:
    best = None
    for _ in range(12):
        found = minimize(
            loss,
            rng.dirichlet(np.ones(count)) * 0.9 + 0.1 / count,
            method="SLSQP",
            bounds=[(1e-6, 1.0 if caps is None else float(caps[place])) for place in range(count)],
            constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        if abs(found.x.sum() - 1) < 1e-9 and (best is None or found.fun < best.fun):
            best = found
    assert best is not None
    shares: Floats = best.x
    return shares
