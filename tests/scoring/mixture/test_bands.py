"""Weights of bands: what a top takes, shares of cuts, a softmax, repeats; and texts without a value."""

import math
from decimal import Decimal

import numpy as np
import pytest

from tests.messages import assert_refused
from tests.scoring.mixture.stages import cell, stage
from winnow.filters.duplicates.rehydration import FINEWEB2
from winnow.schemas.recipe import BandLevel
from winnow.scoring.mixture.bands import band_weights, times


def level(text: str) -> BandLevel:
    found = stage(f"{{bands: {{by: text.score, {text}}}}}").bands
    assert found is not None
    return found


def test_without_a_level_units_weigh() -> None:
    assert band_weights(None, [cell("////b00", 7), cell("////b01", 5)]) == [7, 5]


def test_a_top_share_gives_the_rest_nothing() -> None:
    cells = [cell("////b00", 90), cell("////b01", 10), cell("////null", 4)]
    assert band_weights(level("top: 0.1"), cells) == [0, 10, 0]
    assert band_weights(level("top: 0.1, nulls: keep"), cells) == [0, 10, 4]


def test_shares_of_cuts_are_of_what_has_a_value() -> None:
    cells = [cell("////b00", 50), cell("////b01", 30), cell("////b02", 20), cell("////null", 25)]
    assert band_weights(level("cuts: [1, 2], weights: [0, 0.25, 0.75]"), cells) == [0, 12.5, 37.5, 0]
    kept = band_weights(level("cuts: [1, 2], weights: [0, 0.25, 0.75], nulls: keep"), cells)
    assert kept == [0, 12.5, 37.5, 25]  # a third of what may be given: 25 of 75


def test_a_softmax_weighs_units_by_the_mean_of_their_band() -> None:
    cells = [cell("////b00", 60, score=0.1), cell("////b01", 40, score=0.3), cell("////null", 50)]
    low, high, nulls = band_weights(level("softmax: 0.5"), cells)
    assert float(high / low) == pytest.approx(40 / 60 * math.exp(0.2 / 0.5), rel=1e-15)
    assert low + high == pytest.approx(Decimal(100))
    assert nulls == 0
    assert band_weights(level("softmax: 0.5, nulls: keep"), cells)[2] == 50


def test_the_coldest_softmax_still_gives_every_band_a_weight() -> None:
    cells = [cell("////b00", 60, score=-1e6), cell("////b01", 40, score=1e6)]
    low, high = band_weights(level("softmax: 0.000001"), cells)
    assert 0 < low < Decimal("1e-290") * high


def test_rehydration_weighs_units_by_the_repeats_that_fineweb2_published() -> None:
    sizes = [1, 2, 4, 99, 500, 5000]
    repeats = FINEWEB2.repeats(np.array(sizes)).tolist()
    assert repeats == [1, 2, 3, 5, 8, 1]
    cells = [cell(f"////{place:02d}x{often}", 10, repeats=often) for place, often in enumerate(repeats)]
    found = level("rehydrate: fineweb2")
    assert band_weights(found, cells) == [10, 20, 30, 50, 80, 10]
    assert [times(found, one) for one in cells] == repeats


def test_a_band_of_no_repeats_gets_nothing_and_texts_without_a_value_are_given_once() -> None:
    cells = [cell("////r000", 10, repeats=0), cell("////r003", 10, repeats=3), cell("////null", 5)]
    assert band_weights(level("repeats: [{at: 0, repeats: 0}, {at: 2, repeats: 3}]"), cells) == [0, 30, 0]
    kept = level("nulls: keep, repeats: [{at: 0, repeats: 0}, {at: 2, repeats: 3}]")
    assert band_weights(kept, cells) == [0, 30, 5]


def test_a_band_that_lacks_what_its_level_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="says no repeats"):
        band_weights(level("rehydrate: fineweb2"), [cell("////r002", 1)])
    with pytest.raises(ValueError, match="a softmax needs a number"):
        band_weights(level("softmax: 1"), [cell("////b00", 1)])
    with assert_refused(ValueError, "'top'", "b01"):
        band_weights(level("top: 0.5"), [cell("////top", 1)])
