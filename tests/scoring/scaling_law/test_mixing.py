"""What a law answers: ratios with intervals, warnings when asked beyond its runs, and clear refusals."""

from dataclasses import replace

import numpy as np
import pytest

from tests.messages import assert_refused, assert_told_each
from tests.scoring.laws import GAMMAS, family, law
from winnow.schemas.errors import WinnowError
from winnow.schemas.law import Estimate
from winnow.scoring.scaling_law.mixing import RatioObjective, family_ratios, sensitivity, with_fallback
from winnow.scoring.scaling_law.predicting import distances, losses
from winnow.scoring.scaling_law.ratios import objective, optimal_shares

EXPONENTS = np.array(list(GAMMAS.values()))


def test_normalised_ratios_are_the_same_at_any_size_and_in_both_modes() -> None:
    wanted = optimal_shares(np.ones(3), EXPONENTS)
    for mode, n, d in (("full", None, None), ("full", 5e8, 2e10), ("gamma", None, None), ("gamma", 7e8, 1e10)):
        found = family_ratios(law(mode), RatioObjective("normalised", n, d))  # type: ignore[arg-type]
        assert found.shares == pytest.approx(wanted, rel=1e-12)
        assert found.warnings == ()
        assert all(low <= share <= high for low, share, high in zip(found.low, found.shares, found.high, strict=True))
        assert found.gain == pytest.approx(found.equal_objective - found.objective)


def test_the_gains_interval_knows_that_the_best_shares_were_chosen_by_the_fit() -> None:
    rng, one, bare = np.random.default_rng(0), np.ones(6), law("gamma")
    held, above, count = 0, 0, 150
    for _ in range(count):
        found = 0.1 + 0.01 * rng.standard_normal(6)  # all gammas are 0.1: no shares gain anything over equal ones
        draws = found + 0.01 * rng.standard_normal((200, 6))
        families = tuple(
            replace(family("f", 0.1, "gamma"), family=f"f{place}", gamma=Estimate(gamma, gamma, gamma), draws=drawn)
            for place, (gamma, drawn) in enumerate(
                zip(found.tolist(), np.stack([draws, 0 * draws], axis=2).transpose(1, 0, 2).tolist(), strict=True)
            )
        )
        answer = family_ratios(replace(bare, families=families), RatioObjective())
        shares = np.array(answer.shares)
        gain = float(objective(one, 0.1 * one, one / 6) - objective(one, 0.1 * one, shares))
        held += answer.gain_low <= gain <= answer.gain_high
        above += answer.gain_low > 0
    assert held / count >= 0.9, held
    assert above / count <= 0.05, above


def test_uniform_weights_count_losses_themselves() -> None:
    found = family_ratios(law(), RatioObjective("uniform", 5e8, 2e10))
    scale = losses(law(), 5e8, 2e10, np.ones(3))
    assert found.shares == pytest.approx(optimal_shares(scale, EXPONENTS), rel=1e-12)
    assert sum(losses(law(), 5e8, 2e10, np.array(found.shares))) == pytest.approx(found.objective)


def test_a_heavier_family_gets_more() -> None:
    plain = family_ratios(law(), RatioObjective({"germanic": 1, "indic": 1, "slavic": 1}, 5e8, 2e10))
    heavy = family_ratios(law(), RatioObjective({"germanic": 4, "indic": 1, "slavic": 1}, 5e8, 2e10))
    assert heavy.shares[0] > plain.shares[0]
    assert heavy.shares[1] < plain.shares[1]


def test_questions_beyond_the_runs_are_warned_of_with_their_distance() -> None:
    found = distances(law(), 5e9, 1e8, np.array([0.05, 0.5, 0.45]))
    assert_told_each(
        found,
        ("5e+09", "5 times", "1e+09"),
        ("1e+08", "10 times", "1e+09"),
        ("germanic:", "p 0.05", "2 times", "value (0.1)"),
    )
    narrow = tuple(replace(family, fitted=replace(family.fitted, p_max=0.4)) for family in law().families)
    assert_told_each(
        distances(replace(law(), families=narrow), None, None, np.array([0.2, 0.3, 0.5])),
        ("slavic:", "p 0.5", "1.25 times", "value (0.4)"),
    )
    assert family_ratios(law(), RatioObjective("uniform", 5e9, 2e10)).warnings == found[:1]


def test_sensitivity_moves_one_exponent_at_a_time() -> None:
    rows = sensitivity(law(), RatioObjective())
    assert [row.family for row in rows] == [name for name in GAMMAS for _ in range(2)]
    own = family_ratios(law(), RatioObjective()).shares
    for place, (low, high) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        assert low.shares[place] < own[place] < high.shares[place]
        assert low.regret > 0
        assert high.regret > 0


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (RatioObjective("uniform"), "normalised weights"),
        (RatioObjective("uniform", float("nan"), 1e9), "expected … 1"),
        (RatioObjective("uniform", 1e9, -1), "-1 … 1"),
        (RatioObjective("equal", 1e9, 1e9), "'equal' … expected uniform"),  # type: ignore[arg-type]
        (RatioObjective({"indik": 1.0}, 1e9, 1e9), "'indik' … 'indic'"),
        (RatioObjective({"indic": 1.0}, 1e9, 1e9), "no weight for 'germanic', 'slavic'"),
        (RatioObjective({"indic": 0.0}, 1e9, 1e9), "0.0 … number above"),
        (RatioObjective(caps={"indic": 0.5}), "no cap for 'germanic', 'slavic'"),
        (RatioObjective(unique={"indic": 0.5}), "'germanic' … 'slavic'"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(question: RatioObjective, message: str) -> None:
    with assert_refused(WinnowError, message):
        family_ratios(law(), question)


def test_a_law_of_gamma_alone_knows_losses_only_where_it_was_fitted() -> None:
    assert family_ratios(law("gamma"), RatioObjective("uniform", 1e8, 1e9)).shares
    with assert_refused(WinnowError, "2e+08", "1e+09"):
        family_ratios(law("gamma"), RatioObjective("uniform", 2e8, 1e9))


def test_a_law_without_draws_says_that_its_ratios_have_no_interval() -> None:
    bare = replace(law(), families=tuple(replace(family, draws=()) for family in law().families))
    found = family_ratios(bare, RatioObjective())
    assert found.low == found.shares == found.high
    assert_told_each(found.warnings, "bootstrap draws")


def test_families_without_exponent_get_what_the_fallback_gives_them() -> None:
    shares = with_fallback({"a": 0.25, "b": 0.75}, {"a": 0.3, "b": 0.3, "c": 0.4})
    assert shares == pytest.approx({"a": 0.15, "b": 0.45, "c": 0.4})
    with assert_refused(WinnowError, "give every family"):
        with_fallback({"a": 1.0}, {"c": 1.0})
