"""What the paper's public numbers imply, to the digits that they were printed with."""

import numpy as np
import pytest

from winnow.schemas.languages import grouping
from winnow.scoring.scaling_law.published import (
    FAMILIES,
    NOT_RECOMPUTED,
    TABLE_4_OPTIMISED,
    TABLE_4_UNIFORM,
    TABLE_6_NORMALISED,
    TABLE_6_TOTAL,
    UNIFORM_SHARE,
    derived,
    gammas_of_table_6,
    mean_gamma_of_table_4,
)
from winnow.scoring.scaling_law.ratios import objective, optimal_shares

CELLS = np.array(TABLE_6_NORMALISED)


def test_the_families_are_the_groups_that_languages_are_sorted_into() -> None:
    assert grouping("paper5").groups() == FAMILIES


def test_the_exponents_give_the_printed_cells_back_at_equal_shares() -> None:
    assert np.round(UNIFORM_SHARE ** -gammas_of_table_6(), 3) == pytest.approx(CELLS, abs=1e-12)
    assert gammas_of_table_6() == pytest.approx([0.0825, 0.1028, 0.1500, 0.0825, 0.0781], abs=5e-5)


def test_one_exponent_for_all_gives_table_4_back_at_equal_shares() -> None:
    assert round(5 * UNIFORM_SHARE ** -mean_gamma_of_table_4(), 3) == TABLE_4_UNIFORM
    assert mean_gamma_of_table_4() == pytest.approx(0.104, abs=5e-4)


def test_the_optimum_follows_from_the_exponents_and_gains_as_little_as_the_paper_found() -> None:
    gammas = gammas_of_table_6()
    shares = optimal_shares(np.ones(5), gammas)
    assert shares == pytest.approx([0.165, 0.208, 0.308, 0.165, 0.155], abs=1.1e-3)
    assert shares == pytest.approx(gammas / gammas.sum(), abs=0.015)
    total = objective(np.ones(5), gammas, shares)
    assert total == pytest.approx(5.846, abs=5e-4)
    gain = CELLS.sum() - total
    printed = TABLE_4_UNIFORM - TABLE_4_OPTIMISED
    assert gain == pytest.approx(0.025, abs=5e-4)
    assert printed == pytest.approx(0.017, abs=1e-9)
    assert 1 < gain / printed < 2  # the same order of magnitude; the exponents at 85M are not public


def test_the_printed_total_of_table_6_is_not_the_sum_of_its_cells() -> None:
    assert CELLS.sum() == pytest.approx(5.871, abs=1e-9)
    assert TABLE_6_TOTAL - CELLS.sum() == pytest.approx(0.075, abs=1e-9)


def test_what_was_derived_and_what_could_not_be_is_listed() -> None:
    assert len(derived()) == 16
    assert all(np.isfinite(number.value) for number in derived())
    assert all(what and why for what, why in NOT_RECOMPUTED)
