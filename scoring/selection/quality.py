"""Estimate a dataset's quality: the share of rows that filters retain (as in the paper), with a 95 % interval.

For the majority it is the share of rows whose keep probability is at least one half, with Wilson's interval for the
share that the same filters would retain of similar rows. For the label model it is the mean posterior, which at the
optimum is the model's class balance; its interval is by the delta method on the log odds, from the observed
information (the sum of outer products of the patterns' scores), which includes the uncertainty of accuracies. It is
valid if votes are independent given the class. Both intervals cover only sampling errors, not a filter's bias.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.selection.label_model import EDGE, Kept, LabelModel, PatternFit, Patterns

Method: TypeAlias = Literal["wilson", "delta", "undetermined", "normal"]
"""How an interval was computed. `undetermined`: the votes do not determine it, so it is 0 to 1."""

KEEP_AT: Final = 0.5
"""The keep probability from which a row is retained."""
_Z: Final = 1.959963984540054  # 95 %, two-sided
_SINGULAR: Final = 1e-10  # relative to the information's largest eigenvalue, with scaled parameters


@dataclass(frozen=True, slots=True)
class Quality:
    """An estimate over rows with a keep probability; NaN if there are none."""

    share: float
    low: float
    high: float
    rows: int
    method: Method


NO_QUALITY: Final = Quality(math.nan, 0.0, 1.0, 0, "undetermined")
"""The estimate over no rows."""


def retained(kept: Kept, at: float = KEEP_AT) -> NDArray[np.int8]:
    """Each row as a vote: 1 kept, 0 dropped, -1 if all abstained."""
    return np.where(np.isnan(kept.probability), -1, kept.probability >= at).astype(np.int8)


def estimate_quality(fit: PatternFit) -> Quality:
    """Estimate the dataset's quality by these filters."""
    counts = fit.patterns.counts
    decided = ~np.isnan(fit.probability)
    rows = int(counts[decided].sum())
    if not rows:
        return NO_QUALITY
    if fit.model is None:
        return wilson(int(counts[decided & (fit.probability >= KEEP_AT)].sum()), rows)
    share = float((counts[decided] * fit.probability[decided]).sum()) / rows
    error = _log_odds_error(fit.model, fit.patterns)
    if error is None:
        return Quality(share, 0.0, 1.0, rows, "undetermined")
    held = min(max(share, EDGE), 1 - EDGE)
    middle = math.log(held / (1 - held))
    low, high = (1 / (1 + math.exp(-max(-700.0, min(middle + sign * _Z * error, 700.0)))) for sign in (-1, 1))
    return Quality(share, low, high, rows, "delta")


def wilson(kept: int, rows: int) -> Quality:
    """A share with Wilson's interval (1927)."""
    share, z2 = kept / rows, _Z**2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = _Z / (1 + z2 / rows) * math.sqrt(share * (1 - share) / rows + z2 / (4 * rows**2))
    low = 0.0 if kept == 0 else max(0.0, middle - half)
    high = 1.0 if kept == rows else min(1.0, middle + half)
    return Quality(share, low, high, rows, "wilson")


def pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation, such as of estimated quality with known noise; None where either does not vary."""
    x, y = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"{x.shape} numbers and {y.shape}: expected as many of each")
    if len(x) < 2 or not (np.ptp(x) and np.ptp(y)):
        return None
    x, y = (values - values.mean() for values in (x, y))
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    found = float((x * y).sum()) / math.sqrt(float((x * x).sum()) * float((y * y).sum()))
    return min(1.0, max(-1.0, found))


def _log_odds_error(model: LabelModel, patterns: Patterns) -> float | None:
    """The standard error of the balance's log odds; None if the information does not determine it.

    Rates at a bound are held there. A checkpoint that is no better than chance has one rate instead of two.
    """
    counted = ~np.isnan(model.posterior)
    votes, posterior = patterns.votes[counted], model.posterior[counted]
    weight = patterns.counts[counted].astype(np.float64)
    if _at_edge(model.balance):
        return None
    scores = [posterior - model.balance]
    for votes_of, keeps_good, drops_bad in zip(
        votes.T, model.sensitivity.tolist(), model.specificity.tolist(), strict=True
    ):
        if math.isnan(keeps_good):
            continue
        voted = votes_of >= 0
        good = np.where(voted, posterior * ((votes_of == 1) - keeps_good), 0)
        bad = np.where(voted, (1 - posterior) * ((votes_of == 0) - drops_bad), 0)
        if keeps_good + drops_bad <= 1:
            scores += [] if _at_edge(keeps_good) else [good - bad]
        else:
            scores += [] if _at_edge(keeps_good) else [good]
            scores += [] if _at_edge(drops_bad) else [bad]
    columns = np.stack(scores)
    information = np.einsum("ap,bp->ab", columns * weight, columns)
    scale = np.sqrt(np.diag(information))
    if not (scale > 0).all():
        return None
    information /= scale[:, np.newaxis] * scale
    if np.linalg.eigvalsh(information)[0] < _SINGULAR:
        return None
    return math.sqrt(float(np.linalg.inv(information)[0, 0])) / float(scale[0])


def _at_edge(rate: float) -> bool:
    return rate <= 2 * EDGE or rate >= 1 - 2 * EDGE
