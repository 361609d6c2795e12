"""How often does the interval of "worth keeping" contain the true share of good samples?

    python -m benchmarks.mimic.intervals [--quick] [--json]

Scores of good and of bad samples have shapes that the fit assumes (Gaussians) and shapes that it does not: long tails,
a second group of good samples, outliers; at three checkpoints they differ by a little noise. The rule is `gmm`. An
interval counts where it is given: where groups overlap too much there is none. Beside it, how often Wilson's interval
of the share of the upper Gaussian contains the truth, which takes the shape as given.
"""

import sys
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Final

import numpy as np
import orjson

from benchmarks.measuring.reporting import benchmark_arguments, machine
from winnow.scoring.selection.binarise import BinariseRule, binarise
from winnow.scoring.selection.label_model import aggregate
from winnow.scoring.selection.quality import estimate_quality
from winnow.scoring.selection.ranks import Floats

CHECKPOINTS: Final = 3
NOISE: Final = 0.1
ROWS: Final = 3_000
SHARES: Final = (0.15, 0.5, 0.7, 0.9)
SHAPES: Final = (
    "Gaussians 4 apart",
    "Gaussians 3 apart",
    "a skewed tail of bad ones",
    "a longer tail of bad ones, farther",
    "a second good group",
    "a second good group, nearer",
    "Student's t of five degrees",
    "Student's t, farther",
    "facing tails",
    "uniform",
    "outliers",
)
FIRST_SEED: Final = 20_000
DRAWS: Final = 25
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was found of one shape with one share of good samples."""

    shape: str
    share: float
    draws: int
    given: int
    held: int
    width: float  # of the intervals, in the mean
    wilson: int  # how often the interval of the upper Gaussian's share holds the truth, of all draws


def scores(shape: str, rows: int, share: float, seed: int) -> Floats:
    """Scores at the checkpoints; so many samples are good, in the mean."""
    random = np.random.default_rng(seed)
    normal, skewed, tailed = random.normal(size=rows), random.exponential(size=rows), random.standard_t(5, rows) / 1.3
    further = random.random(rows)
    good, bad = {
        "Gaussians 4 apart": (4 + normal, normal),
        "Gaussians 3 apart": (3 + normal, normal),
        "a skewed tail of bad ones": (3 + normal, skewed + normal / 2 - 0.5),
        "a longer tail of bad ones, farther": (6 + normal, random.gamma(2, 1, rows) - 1),
        "a second good group": (np.where(further < 0.4, 5.5, 3) + normal, normal),
        "a second good group, nearer": (np.where(further < 0.3, 1.5, 4) + normal, normal),
        "Student's t of five degrees": (3 + tailed, tailed),
        "Student's t, farther": (6 + tailed, tailed),
        "facing tails": (6 - skewed, random.exponential(size=rows)),
        "uniform": (5 + 3.4 * further, 3.4 * further),
        "outliers": (8 + random.standard_cauchy(rows), random.standard_cauchy(rows)),
    }[shape]
    found: Floats = np.where(random.random(rows) < share, good, bad)[:, None]
    return found + NOISE * random.normal(size=(rows, CHECKPOINTS))


def coverage(shape: str, share: float, draws: int, rows: int = ROWS, first: int = FIRST_SEED) -> Coverage:
    """Intervals of so many samples of scores."""
    given, held, wilson, width = 0, 0, 0, 0.0
    for seed in range(first, first + draws):
        votes = binarise(scores(shape, rows, share, seed), BinariseRule("gmm"))
        found = estimate_quality(aggregate(votes.kept, "majority").fit, votes.detail)
        fitted = [step.clusters[1].share for step in votes.detail if step.clusters is not None]
        wilson += bool(fitted) and _wilson_holds(sum(fitted) / len(fitted), rows, share)
        if found.method == "clusters":
            given += 1
            held += found.low <= share <= found.high
            width += found.high - found.low
    return Coverage(shape, share, draws, given, held, width / max(given, 1), wilson)


def _wilson_holds(found: float, rows: int, share: float) -> bool:
    """Whether the 95 % interval of a share of so many samples contains the truth."""
    return abs(found - share) <= _Z * sqrt(share * (1 - share) / rows)


def table(found: list[Coverage]) -> str:
    """A row for each shape and share."""
    lines = [
        "| scores | good | intervals given | contain the truth | mean width | Wilson's contains it |",
        "| --- " * 6 + "|",
    ]
    lines += [
        f"| {one.shape} | {one.share:.0%} | {one.given} of {one.draws} "
        f"| {f'{one.held / one.given:.3f}' if one.given else ''} | {f'{one.width:.3f}' if one.given else ''} "
        f"| {one.wilson / one.draws:.2f} |"
        for one in found
    ]
    return "\n".join(lines)


def main() -> int:
    """Print the table; with `--json` an object with every number."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    draws = 5 if options.quick else DRAWS
    found = []
    for shape in SHAPES:
        print(f"{shape} …", file=sys.stderr)
        found += [coverage(shape, share, draws) for share in SHARES]
    print(f"{ROWS:,} samples, seeds {FIRST_SEED:,} to {FIRST_SEED + draws - 1:,}\n\n{table(found)}")
    if options.json:
        cells = [asdict(one) for one in found]
        print(orjson.dumps({"name": "mimic.intervals", "cells": cells, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
