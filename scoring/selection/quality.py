"""Estimate a dataset's quality: the share of good rows, with a 95 % interval where the scores allow one.

The paper's estimate is the share of rows that the filter keeps. Where good and bad scores overlap, it is biased: more
good rows are dropped than bad ones kept, or the reverse. So for two Gaussians the estimate is the share of the upper
one, which the overlap does not bias. The interval does not rely on Gaussians: it holds for any two groups of scores
that have one peak each (`share_interval`). Of several checkpoints it takes the means of estimates and bounds; so
majority and label model have the same. If the groups overlap so much that this says little, or the rule has no model
of good and bad rows, there is only what is kept, without an interval.

Nothing of this knows whether high scores are good.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.label_model import KeepProbabilities, PatternFit

Method: TypeAlias = Literal["clusters", "overlap", "kept"]
"""How the share was estimated: by the clusters of scores, with an interval; or it is what is kept, because clusters
overlap too much or because the rule has none."""

KEEP_AT: Final = 0.5
"""The keep probability from which a row is retained."""
WIDEST: Final = 3.0
"""The widest interval of the log odds that is given: around one half that is from 18 % to 82 %."""


@dataclass(frozen=True, slots=True)
class Quality:
    """An estimate over rows with a keep probability; NaN if there are none."""

    share: float  # of good rows
    low: float  # 0 and 1 if there is no interval
    high: float
    rows: int
    method: Method
    kept: float  # the share that the filter keeps


NO_QUALITY: Final = Quality(math.nan, 0.0, 1.0, 0, "kept", math.nan)
"""The estimate over no rows."""


def retained(kept: KeepProbabilities, at: float = KEEP_AT) -> NDArray[np.int8]:
    """Each row as a vote: 1 kept, 0 dropped, -1 if all abstained."""
    return np.where(np.isnan(kept.probability), -1, kept.probability >= at).astype(np.int8)


def estimate_quality(fit: PatternFit, steps: Sequence[Step]) -> Quality:
    """Estimate the dataset's quality.

    Args:
        fit: How the checkpoints' votes become keep probabilities.
        steps: What the rule made of the scores at each checkpoint.
    """
    decided = ~np.isnan(fit.probability)
    rows = int(fit.patterns.counts[decided].sum())
    if not rows:
        return NO_QUALITY
    kept = kept_share(fit)
    fitted = [(one.clusters[1].share, one.share_odds) for one in steps if one.clusters is not None]
    bounds = [odds for _, odds in fitted if odds is not None]
    if not bounds or len(bounds) < len(fitted):
        return Quality(kept, 0.0, 1.0, rows, "kept", kept)
    middle = math.fsum(math.log(share / (1 - share)) for share, _ in fitted) / len(fitted)
    low, high = (math.fsum(ends) / len(bounds) for ends in zip(*bounds, strict=True))
    if high - low > WIDEST:
        return Quality(kept, 0.0, 1.0, rows, "overlap", kept)
    share, least, most = (1 / (1 + math.exp(-odds)) for odds in (middle, min(low, middle), max(high, middle)))
    return Quality(share, least, most, rows, "clusters", kept)


def kept_share(fit: PatternFit) -> float:
    """The share of rows that the filter keeps: by the label model the mean probability; NaN without votes."""
    counts, decided = fit.patterns.counts, ~np.isnan(fit.probability)
    rows = int(counts[decided].sum())
    if not rows:
        return math.nan
    if fit.model is None:
        return int(counts[decided & (fit.probability >= KEEP_AT)].sum()) / rows
    return float((counts[decided] * fit.probability[decided]).sum()) / rows


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
