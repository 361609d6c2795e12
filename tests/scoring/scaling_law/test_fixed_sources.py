"""Shares across sources are the optimum of the whole mixture, held against SciPy's general solver."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.schemas.errors import WinnowError
from winnow.scoring.scaling_law.fixed_sources import shares_across_sources
from winnow.scoring.scaling_law.ratios import objective, optimal_shares
from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens

Floats = NDArray[np.float64]


def searched(k: Floats, gammas: Floats, rooms: Floats, most: Floats, unique: Floats | None) -> float:
    """The least objective that SLSQP finds."""
    most = np.minimum(most, rooms[:, np.newaxis])

    def lost(flat: Floats) -> float:
        x = flat.reshape(most.shape)
        worth = x if unique is None else effective_tokens(x, unique, R_STAR)
        return float(objective(k, gammas, np.maximum(worth.sum(axis=0), 1e-12)))

    parts = [
        {"type": "eq", "fun": lambda flat, row=row: flat.reshape(most.shape)[row].sum() - rooms[row]}
        for row in range(len(rooms))
    ]
    start = (most * (rooms / most.sum(axis=1))[:, np.newaxis]).ravel()
    bounds = list(zip(np.zeros(most.size), most.ravel(), strict=True))
    found = minimize(
        lost, start, bounds=bounds, constraints=parts, method="SLSQP", options={"maxiter": 1000, "ftol": 1e-15}
    )
    return float(found.fun)


@pytest.mark.parametrize("repeats", [False, True])
def test_no_mixture_that_a_search_finds_has_less_loss(repeats: bool) -> None:
    random = np.random.default_rng(5)
    for _ in range(scaled(3 if repeats else 12)):
        sources, families = random.integers(2, 5), random.integers(2, 6)
        k, gammas = random.uniform(0.5, 3, families), random.uniform(0.02, 0.4, families)
        rooms = random.dirichlet(np.ones(sources)) * random.uniform(0.3, 1)
        most = random.uniform(0, 1, (sources, families)) ** 3 * (random.random((sources, families)) < 0.6)
        most[np.arange(sources), random.integers(families, size=sources)] += rooms
        held = most.sum(axis=0) > 0
        k, gammas, most = k[held], gammas[held], most[:, held]
        unique = np.maximum(most / 4, 1e-3) if repeats else None
        x = shares_across_sources(k, gammas, rooms, most, unique)
        assert x.sum(axis=1) == pytest.approx(rooms, abs=1e-9)
        assert (x >= 0).all()
        assert (x <= most + 1e-12).all()
        worth = x if unique is None else effective_tokens(x, unique, R_STAR)
        assert float(objective(k, gammas, worth.sum(axis=0))) <= searched(k, gammas, rooms, most, unique) + 1e-6


def test_sources_that_have_the_same_give_the_same() -> None:
    gammas = np.array([0.08, 0.15, 0.10])
    most = np.array([[1.0, 1, 1], [1, 1, 1], [1, 0, 0]])
    x = shares_across_sources(np.ones(3), gammas, np.array([0.35, 0.35, 0.3]), most)
    assert x[0] == pytest.approx(x[1], abs=1e-12)
    turned = shares_across_sources(np.ones(3), gammas, np.array([0.3, 0.35, 0.35]), most[::-1])
    assert turned == pytest.approx(x[::-1], abs=1e-12)


def test_what_every_source_can_give_is_shared_alike() -> None:
    k, gammas = np.array([2.0, 1, 3]), np.array([0.08, 0.15, 0.10])
    x = shares_across_sources(k, gammas, np.array([0.7, 0.3]), np.ones((2, 3)))
    assert x == pytest.approx(np.outer([0.7, 0.3], optimal_shares(k, gammas)), abs=1e-15)


def test_a_full_source_gives_all_that_it_has() -> None:
    most = np.array([[0.1, 0.2], [1.0, 1.0]])
    x = shares_across_sources(np.ones(2), np.array([0.1, 0.1]), np.array([0.3, 0.7]), most)
    assert x[0] == pytest.approx([0.1, 0.2])
    assert x.sum(axis=0) == pytest.approx([0.5, 0.5])


def test_a_source_with_less_than_its_part_is_refused() -> None:
    with assert_refused(WinnowError, "lower its share"):
        shares_across_sources(np.ones(2), np.array([0.1, 0.1]), np.array([0.5, 0.5]), np.array([[0.1, 0.1], [1, 1]]))
