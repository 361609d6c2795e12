"""How often does the interval of "worth keeping" contain the true share of good samples?

    python -m benchmarks.mimic.intervals [--quick] [--json]

Scores of good and of bad samples are Gaussian, with deviation 1 and means so many deviations apart; at three
checkpoints they are correlated by .9 given the class. The rule is `gmm`, votes are joined by majority or by label
model. An interval counts where it is given: where clusters overlap too much there is none. Beside it, how often
Wilson's interval of the share that is kept contains the truth, which takes the fitted cut as given.
"""

import sys
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Final, get_args

import numpy as np
import orjson

from benchmarks.measuring.reporting import benchmark_arguments, machine
from winnow.scoring.selection.binarise import BinariseRule, binarise
from winnow.scoring.selection.label_model import Aggregation, aggregate
from winnow.scoring.selection.quality import estimate_quality
from winnow.scoring.selection.ranks import Floats

CHECKPOINTS: Final = 3
CORRELATION: Final = 0.9
CELLS: Final = (  # deviations apart, samples, share of good ones
    (2.0, 5_000, 0.5),
    (2.0, 5_000, 0.7),
    (2.0, 5_000, 0.85),
    (3.0, 2_000, 0.5),
    (3.0, 2_000, 0.7),
    (3.0, 2_000, 0.9),
)
FIRST_SEED: Final = 20_000
DRAWS: Final = 120
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was found of one cell by one aggregation."""

    apart: float
    rows: int
    share: float
    how: Aggregation
    draws: int
    given: int
    held: int
    width: float  # of the intervals, in the mean
    wilson: int  # how often the interval of a known cut holds the truth, of all draws


def scores(apart: float, rows: int, share: float, seed: int) -> Floats:
    """Scores at the checkpoints."""
    random = np.random.default_rng(seed)
    good = random.random((rows, 1)) < share
    common, own = random.normal(size=(rows, 1)), random.normal(size=(rows, CHECKPOINTS))
    found: Floats = apart * good + sqrt(CORRELATION) * common + sqrt(1 - CORRELATION) * own
    return found


def coverage(apart: float, rows: int, share: float, draws: int) -> list[Coverage]:
    """One row for each aggregation."""
    kinds = get_args(Aggregation)
    given, held, wilson = (dict.fromkeys(kinds, 0) for _ in range(3))
    widths = dict.fromkeys(kinds, 0.0)
    for seed in range(FIRST_SEED, FIRST_SEED + draws):
        votes = binarise(scores(apart, rows, share, seed), BinariseRule("gmm"))
        for how in kinds:
            found = estimate_quality(aggregate(votes.kept, how).fit, votes.detail)
            wilson[how] += _wilson_holds(found.kept, rows, share)
            if found.method == "clusters":
                given[how] += 1
                held[how] += found.low <= share <= found.high
                widths[how] += found.high - found.low
    return [
        Coverage(apart, rows, share, how, draws, given[how], held[how], widths[how] / max(given[how], 1), wilson[how])
        for how in kinds
    ]


def _wilson_holds(kept: float, rows: int, share: float) -> bool:
    """Whether the 95 % interval of a share of so many samples contains the truth."""
    return abs(kept - share) <= _Z * sqrt(share * (1 - share) / rows)


def table(found: list[Coverage]) -> str:
    """A row a cell and aggregation."""
    lines = [
        "| deviations apart | samples | good | votes joined by | intervals given | contain the truth | mean width "
        "| Wilson's contains it |",
        "| --- " * 8 + "|",
    ]
    lines += [
        f"| {one.apart:g} | {one.rows:,} | {one.share:.0%} | {one.how.replace('_', ' ')} | {one.given} of {one.draws} "
        f"| {one.held / max(one.given, 1):.3f} | {one.width:.3f} | {one.wilson / one.draws:.3f} |"
        for one in found
    ]
    return "\n".join(lines)


def main() -> int:
    """Print the table; with `--json` an object with every number."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    found = []
    for apart, rows, share in CELLS:
        print(f"{apart:g} deviations apart, {share:.0%} good …", file=sys.stderr)
        found += coverage(apart, rows, share, 20 if options.quick else DRAWS)
    print(f"seeds {FIRST_SEED:,} to {FIRST_SEED + found[0].draws - 1:,}\n\n{table(found)}")
    if options.json:
        cells = [asdict(one) for one in found]
        print(orjson.dumps({"name": "mimic.intervals", "cells": cells, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
