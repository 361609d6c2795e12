"""What plots of a law show of its draws."""

from dataclasses import replace

import numpy as np
import pytest

from tests.runners.stages.law.conftest import EXAMPLE
from tests.scoring.laws import law
from winnow.runners.stages.law import plots
from winnow.runners.stages.law.run_tables import read_runs
from winnow.scoring.scaling_law.models import cells_of
from winnow.scoring.scaling_law.predicting import drawn_exponents, drawn_scales


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.98])
def test_a_band_holds_the_share_of_draws_that_it_claims(confidence: float) -> None:
    found = law()
    family = found.families[0]
    many = tuple((*one[:-1], one[-1] * by) for one in family.draws[2:3] for by in np.linspace(0.5, 1.5, 1001))
    wide = replace(family, draws=many)
    claimed = replace(found, provenance=replace(found.provenance, confidence=confidence))
    table = read_runs([str(EXAMPLE)]).of("Germanic")
    (shown, *_) = plots._fitted(claimed, wide, table, cells_of(table)[0])
    assert shown.band is not None
    low, high = shown.band
    (cell, *_) = cells_of(table)[0]
    p = np.geomspace(family.fitted.p_min, family.fitted.p_max, len(low))
    alone = replace(claimed, families=(wide,))
    drawn = drawn_scales(alone, *cell) * p ** -drawn_exponents(alone)
    within = ((drawn >= low * (1 - 1e-12)) & (drawn <= high * (1 + 1e-12))).mean(axis=0)
    np.testing.assert_allclose(within[:-1], confidence, atol=0.003)
