"""Convert a fit to a law, with numbers rounded as in its file."""

from dataclasses import dataclass

import numpy as np

from winnow.schemas.law import (
    SCHEMA,
    Bracket,
    Cell,
    Estimate,
    FamilyLaw,
    FittedRange,
    Provenance,
    ScalingLaw,
    law_from_json,
    law_to_json,
)
from winnow.scoring.scaling_law.fitting import FamilyFit, LawFit
from winnow.scoring.scaling_law.resampling import interval
from winnow.scoring.scaling_law.runs import RunTable

KEPT_DRAWS = 400
"""The number of draws in a law file; 10 of them lie beyond each end of a ratio's 95 % interval."""


@dataclass(frozen=True, slots=True)
class _Estimates:
    fit: FamilyFit
    confidence: float

    def of(self, column: int, *, logarithm: bool = False) -> Estimate:
        """One parameter with its interval; if it is a logarithm, its exponential."""
        low, high = interval(self.fit.draws[:, column], self.confidence)
        numbers = np.array([self.fit.parameters[column], low, high])
        value, least, most = (np.exp(numbers) if logarithm else numbers).tolist()
        return Estimate(value, least, most)


def law_of(fit: LawFit, fingerprint: str = "", note: str = "", kept_draws: int = KEPT_DRAWS) -> ScalingLaw:
    """The law of a fit.

    Args:
        fit: The result of `fit_law`.
        fingerprint: The environment's fingerprint, for the provenance.
        note: A remark for readers.
        kept_draws: The number of bootstrap draws to keep, for intervals of ratios.
    """
    config = fit.config
    deltas = {family.family: family.huber_delta for family in fit.families}
    law = ScalingLaw(
        SCHEMA,
        config.mode,
        fit.table.units,
        tuple(_family_law(fit, family, kept_draws) for family in fit.families),
        Provenance(
            fit.table.source,
            fit.table.digest(),
            len(fit.table),
            config.method,
            max(deltas.values()),
            config.resamples,
            config.confidence,
            config.seed,
            fingerprint,
            "; ".join(filter(None, (note, _deltas_note(deltas)))),
        ),
    )
    return law_from_json(law_to_json(law))  # rounded as in the file


def _deltas_note(deltas: dict[str, float]) -> str:
    """A note on Huber's delta if it differs between families; else empty."""
    if len(set(deltas.values())) < 2:
        return ""
    return "Huber's delta was " + ", ".join(f"{delta:.3g} for {family}" for family, delta in deltas.items())


def _family_law(fit: LawFit, family: FamilyFit, kept_draws: int) -> FamilyLaw:
    estimates = _Estimates(family, fit.config.confidence)
    full = fit.config.mode == "full"
    bracket = None
    if full:
        e, a, b = (estimates.of(column, logarithm=True) for column in (0, 1, 3))
        bracket = Bracket(e, a, estimates.of(2), b, estimates.of(4))
    cells = tuple(Cell(n, d, estimates.of(1 + place, logarithm=True)) for place, (n, d) in enumerate(family.cells))
    return FamilyLaw(
        family.family,
        estimates.of(5 if full else 0),
        bracket,
        cells,
        _fitted_range(fit.table.of(family.family)),
        family.quality,
        family.at_bounds,
        tuple(tuple(draw) for draw in family.draws[:kept_draws].tolist()),
    )


def _fitted_range(rows: RunTable) -> FittedRange:
    ends = [float(end) for column in (rows.n, rows.d, rows.p) for end in (column.min(), column.max())]
    return FittedRange(len(rows), len(np.unique(rows.seed)), *ends)
