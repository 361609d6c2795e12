"""How well a measure tells good rows from bad ones: the area under the ROC curve, with an interval by DeLong's variance
(Biometrics 44, 1988) on the logit scale."""

from dataclasses import dataclass

import numpy as np

from winnow.scoring.selection.ranks import Floats
from winnow.scoring.selection.share_interval import Z

_LEAST = 0.025  # of each side


@dataclass(frozen=True, slots=True)
class Area:
    """The chance that a good row is above a bad one, ties counting half, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


def area_between(good: Floats, bad: Floats) -> Area:
    """The area for independent rows, at least two of each kind, all finite."""
    pooled = _middle_ranks(np.concatenate([good, bad]))
    above = (pooled[: len(good)] - _middle_ranks(good)) / len(bad)  # of each good row: the share of bad ones below it
    below = 1 - (pooled[len(good) :] - _middle_ranks(bad)) / len(good)
    value = float(above.mean())
    if not 0 < value < 1:
        # No row is on the wrong side, so the variance says nothing: the least chance of that is 2.5 %.
        reach = 1 - _LEAST ** (1 / min(len(good), len(bad)))
        return Area(value, max(0.0, value - reach), min(1.0, value + reach))
    error = float(np.sqrt(above.var(ddof=1) / len(good) + below.var(ddof=1) / len(bad)))
    middle, reach = float(np.log(value / (1 - value))), Z * error / (value * (1 - value))
    low, high = (1 / (1 + np.exp(-np.array([middle - reach, middle + reach])))).tolist()
    return Area(value, low, high)


def _middle_ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values share the middle of theirs."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middles[numbers]
