"""Between which log odds the share of the good group lies, whatever the shapes of the good and the bad group.

Two Gaussians may fit scores well and still give a wrong share: a long tail of one group looks like a part of the other,
and nothing in the scores tells them apart. So no shape is taken for granted but this: each group has one peak, and the
peaks are where the fit has them. Between and beyond the peaks, a group's density then only falls. At the valley neither
group is denser than both together, so beyond it the other group has at most the valley's density everywhere: that
bounds how many rows on either side may belong to the other group. Where the groups are well apart the bounds are close;
where they overlap they say little, and there is no interval.
"""

import math
from typing import Final

import numpy as np

from winnow.scoring.selection.clusters import Gaussians
from winnow.scoring.selection.ranks import Floats, Integers

UNBOUNDED: Final = 40.0
_PLACES: Final = 513  # between the peaks at which the valley is sought
_MOST_UNLIKE: Final = 3.0
"""How many times wider one group may be than the other: a fit beyond that has put outliers into one of them."""
_LEAST_SHARE: Final = 0.01  # of rows in a group: fewer are outliers
_LEAST_DENSITY: Final = 1e-300
Z: Final = 1.959963984540054  # 95 %


def share_odds(mixture: Gaussians, values: Floats, counts: Integers) -> tuple[float, float]:
    """The bounds of the log odds of the upper group's share; `UNBOUNDED`, or minus that, where there is none.

    Args:
        mixture: The fit to these values.
        values: Distinct and ascending, in their original scale.
        counts: The count of each value.
    """
    groups = mixture.lower, mixture.upper
    deviations = [one.deviation for one in groups]
    if max(deviations) > _MOST_UNLIKE * min(deviations) or min(one.share for one in groups) < _LEAST_SHARE:
        return -UNBOUNDED, UNBOUNDED
    x, rows = mixture.scaled(values), float(counts.sum())
    between = np.linspace(mixture.lower.mean, mixture.upper.mean, _PLACES)
    depths = _density(mixture, between)
    valley, depth = between[depths.argmin()], depths.min()
    foreign = counts * (depth / np.maximum(_density(mixture, x), max(depth, _LEAST_DENSITY))) / rows
    above = x >= valley
    share = float(counts[above].sum()) / rows
    least, most = share - float(foreign[above].sum()), share + float(foreign[~above].sum())
    return _odds(_wilson(least, rows, -1)), _odds(_wilson(most, rows, 1))


def _density(mixture: Gaussians, x: Floats) -> Floats:
    parts = [
        one.share / one.deviation * np.exp(-(((x - one.mean) / one.deviation) ** 2) / 2)
        for one in (mixture.lower, mixture.upper)
    ]
    return parts[0] + parts[1]


def _wilson(share: float, rows: float, sign: int) -> float:
    """The end of Wilson's interval of a share of so many rows."""
    share = min(max(share, 0.0), 1.0)
    wide = Z * math.sqrt(share * (1 - share) / rows + Z * Z / (4 * rows * rows))
    return (share + Z * Z / (2 * rows) + sign * wide) / (1 + Z * Z / rows)


def _odds(share: float) -> float:
    return math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(UNBOUNDED, share - 0.5)
