"""The tests of the law's own assumptions find what was planted, and nothing where nothing was."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told
from winnow.scoring.scaling_law.hypotheses import _enough, _holm, independence_tests, invariance_tests
from winnow.scoring.scaling_law.runs import RunTable, runs_from_columns

MIXTURES = ((0.2, 0.6, 0.2), (0.2, 0.4, 0.4), (0.2, 0.2, 0.6), (0.4, 0.4, 0.2), (0.4, 0.2, 0.4), (0.6, 0.2, 0.2))


def planted(leak: float = 0.0, drift: float = 0.0, draw: int = 0, named: bool = True) -> RunTable:
    """Three families; `leak` adds the second one's part of the rest to the first one's log loss."""
    rng = np.random.default_rng(draw)
    columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed", "run")}
    sizes = [(n, d, seed, mixture) for n in (1e8, 1e9) for d in (1e9, 1e10) for seed in (0, 1) for mixture in MIXTURES]
    for run, (n, d, seed, mixture) in enumerate(sizes):
        for place, share in enumerate(mixture):
            gamma = 0.1 + drift * np.log10(n / 1e8)
            beside = leak * mixture[1] / (1 - share) if place == 0 else 0.0
            loss = (1.5 + 300 * n**-0.3 + 900 * d**-0.33) * share**-gamma
            row = (f"f{place}", n, d, share, loss * np.exp(beside + 0.004 * rng.standard_normal()), seed, f"r{run}")
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    if not named:
        del columns["run"]
        columns["seed"] = list(range(len(columns["seed"])))
    return runs_from_columns(columns)


def test_what_leaks_from_another_family_is_found() -> None:
    first, second, third = independence_tests(planted(leak=0.03))
    assert first.adjusted is not None
    assert first.adjusted < 0.01
    assert first.effect == pytest.approx(0.0075, abs=0.004)  # parts of a quarter and three quarters, about their mean
    assert first.detectable is not None
    assert first.effect is not None
    assert first.effect > first.detectable
    assert second.p_value is not None
    assert third.p_value is not None
    assert min(second.p_value, third.p_value) > 0.01


def test_a_monolingual_run_off_the_line_is_no_effect_of_the_others() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed", "run")}
    alone = tuple(tuple(float(place == other) for other in range(3)) for place in range(3))
    for run, (seed, mixture) in enumerate((seed, mixture) for seed in range(4) for mixture in (*MIXTURES, *alone)):
        for place, share in enumerate(mixture):
            if share:
                loss = 2 * share**-0.1 * (0.95 if share == 1 else 1) * np.exp(0.004 * rng.standard_normal())
                row = (f"f{place}", 1e8, 1e9, share, loss, seed, f"r{run}")
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    assert all(
        answer.adjusted is not None and answer.adjusted > 0.05
        for answer in independence_tests(runs_from_columns(columns))
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_line_that_bends_in_the_share_is_no_effect_of_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed", "run")}
    mixtures = ((0.2, 0.2, 0.6), (0.2, 0.6, 0.2), (0.6, 0.2, 0.2), (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.4, 0.4, 0.2))
    for run, (again, mixture) in enumerate((again, mixture) for again in range(3) for mixture in mixtures):
        for place, share in enumerate(mixture):
            bent = np.exp(0.9 - 0.1 * np.log(share) - 0.03 * np.log(share) ** 2)
            row = (f"f{place}", 1e8, 1e9, share, bent * np.exp(0.003 * rng.standard_normal()), again, f"r{run}")
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    answers = [answer.adjusted for answer in independence_tests(runs_from_columns(columns), draws=499)]
    assert any(value is not None for value in answers)
    assert all(value is None or value > 0.05 for value in answers)


def test_shares_that_never_come_again_beside_others_are_not_tested() -> None:
    columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed", "run")}
    mixtures = ((0.1, 0.2, 0.7), (0.2, 0.3, 0.5), (0.35, 0.25, 0.4), (0.5, 0.1, 0.4), (0.7, 0.2, 0.1))
    for run, mixture in enumerate(mixtures):
        for place, share in enumerate(mixture):
            row = (f"f{place}", 1e8, 1e9, share, 2 * share**-0.1, 0, f"r{run}")
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    answer = independence_tests(runs_from_columns(columns))[0]
    assert answer.p_value is None
    assert_told(answer.why_not, "never vary")


def test_many_families_are_tested_with_as_many_draws_as_holm_takes() -> None:
    assert _enough(3, 1999) == (1999, "")
    assert _enough(200, 1999) == (8000, "")
    assert _enough(500, 1999) == (19_999, "") == _enough(999, 1999)
    assert_told(_enough(1000, 1999)[1], "19999 draws")


def test_an_exponent_that_grows_with_n_is_found_and_measured() -> None:
    for answer in invariance_tests(planted(drift=0.02)):
        assert answer.adjusted is not None
        assert answer.adjusted < 0.01
        assert answer.per_decade_n is not None
        assert answer.per_decade_d is not None
        assert answer.per_decade_n[1] < 0.02 < answer.per_decade_n[2]
        assert answer.per_decade_d[1] < 0.0 < answer.per_decade_d[2]


def test_nothing_is_found_about_as_often_as_chance_says() -> None:
    independent = [a.p_value for draw in range(30) for a in independence_tests(planted(draw=draw), draws=199)]
    invariant = [a.p_value for draw in range(30) for a in invariance_tests(planted(draw=draw), draws=199)]
    for values in (independent, invariant):
        assert 0 <= np.mean(np.array(values, float) < 0.05) <= 0.12  # 90 tests: 0.05, and three standard deviations


def test_what_cannot_be_tested_says_why() -> None:
    assert "no column `run`" in independence_tests(planted(named=False))[0].why_not
    columns: dict[str, list[object]] = {
        "family": ["a", "b"] * 8,
        "N": [1e8] * 16,
        "D": [1e9] * 16,
        "p": [0.3, 0.7, 0.6, 0.4] * 4,
    }
    runs: list[object] = [f"r{row // 2}" for row in range(16)]
    rows: dict[str, list[object]] = {
        **columns,
        "loss": [3.0 + row / 50 for row in range(16)],
        "seed": [r // 4 for r in range(16)],
        "run": runs,
    }
    table = runs_from_columns(rows)  # of two families, one's share is all that is known of the other's
    assert_told(independence_tests(table)[0].why_not, "never vary")
    assert_told(invariance_tests(table)[0].why_not, "p varies")


@given(st.lists(st.none() | st.floats(0, 1), max_size=8), st.randoms())
def test_adjusted_values_reject_what_holms_steps_reject_in_any_order(
    p_values: list[float | None], mixed: Random
) -> None:
    adjusted = _holm(p_values)
    assert [one is None for one in adjusted] == [one is None for one in p_values]
    for level in (0.01, 0.05, 0.2, 1.0):
        left, rejected = [one for one in p_values if one is not None], set()
        while left and min(left) * len(left) <= level:
            rejected.add(min(left))
            left.remove(min(left))
        steps = {one for one in rejected if one not in left}
        if level < 1:
            assert {p for p, one in zip(p_values, adjusted, strict=True) if one is not None and one <= level} == steps
    order = mixed.sample(range(len(p_values)), len(p_values))
    assert _holm([p_values[place] for place in order]) == [adjusted[place] for place in order]
