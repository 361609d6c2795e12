"""The family scaling law: a fit with its intervals, and ratios of many groups.

    python -m benchmarks.law [--quick] [--json]

The fit is `winnow law fit` from a CSV file to the law's file, start-up included: 300 training runs, each measured on
six families (25 sizes and lengths, 12 mixtures), 1,000 resamples, both tests of its assumptions. Ratios are the optimum
of 1,000 groups by the dual, the median of 101 calls in one process. The promises are 60 s on two cores and 10 ms.
`--quick` fits once, the full run three times.
"""

import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.measuring.reporting import (
    Limit,
    Report,
    Row,
    benchmark_arguments,
    measure,
    median_of,
    median_seconds,
    show,
)
from winnow.scoring.scaling_law.ratios import optimal_shares

FIT_SECONDS, RATIO_SECONDS = 60.0, 0.010
GROUPS, CALLS = 1000, 101
RUNS, RESAMPLES, MIXTURES = 300, 1000, 12
NOISE: Final = 0.005

TRUTHS: Final = {  # E, A, alpha, B, beta, gamma
    "germanic": (1.2, 300.0, 0.32, 900.0, 0.33, 0.08),
    "indic": (1.4, 380.0, 0.36, 1100.0, 0.35, 0.15),
    "japonic": (1.5, 350.0, 0.34, 1000.0, 0.34, 0.12),
    "romance": (1.1, 320.0, 0.33, 950.0, 0.33, 0.09),
    "sinitic": (1.7, 420.0, 0.37, 1200.0, 0.36, 0.13),
    "slavic": (1.6, 460.0, 0.40, 1300.0, 0.37, 0.11),
}
SIZES: Final = (8.5e7, 2e8, 3.97e8, 8.1e8, 1.2e9)
TOKENS: Final = (5e9, 1e10, 2e10, 3.5e10, 5e10)


def runs_csv(runs: int) -> str:
    """A table of so many runs on random mixtures of all families, two seeds in turn."""
    rng = np.random.default_rng(0)
    drawn = np.maximum(rng.dirichlet(np.full(len(TRUTHS), 1.5), MIXTURES), 0.03)
    mixtures = (drawn / drawn.sum(axis=1, keepdims=True)).round(3)
    mixtures[:, 0] += 1 - mixtures.sum(axis=1)  # what rounding left
    lines = ["family,N,D,p,loss,seed,run"]
    cells = [(n, d) for n in SIZES for d in TOKENS]
    for run in range(runs):
        n, d = cells[run % len(cells)]
        mixture = mixtures[run // len(cells) % len(mixtures)]
        for (family, (e, a, alpha, b, beta, gamma)), p in zip(TRUTHS.items(), mixture.tolist(), strict=True):
            loss = (e + a * n**-alpha + b * d**-beta) * p**-gamma * float(np.exp(NOISE * rng.standard_normal()))
            lines.append(f"{family},{n:g},{d:g},{p!r},{loss:.5f},{run % 2},r{run}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Both promises."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, law = Path(folder, "runs.csv"), Path(folder, "law.json")
        table.write_text(runs_csv(RUNS))
        fit = [sys.executable, "-m", "winnow", "law", "fit", str(table), "--output", str(law)]
        fitted = median_of(1 if arguments.quick else 3, lambda: measure([*fit, "--resamples", str(RESAMPLES)]))
    rng = np.random.default_rng(0)
    k, gammas = rng.uniform(0.5, 2.0, GROUPS), rng.uniform(0.02, 0.3, GROUPS)
    seconds = median_seconds(CALLS, lambda: optimal_shares(k, gammas))
    print(f"ratios of {GROUPS:,} groups: {1000 * seconds:.2f} ms (promised: {1000 * RATIO_SECONDS:g} ms)")
    worst = max(fitted.wall_seconds / FIT_SECONDS, seconds / RATIO_SECONDS)
    rows = RUNS * len(TRUTHS)
    report = Report(
        name="law",
        unit="losses/s",
        ours=rows / fitted.wall_seconds,
        limit=Limit("time of what is promised, the worse of both", worst, 1.0, "times"),
        rows=[Row(f"fit, {RESAMPLES:,} resamples", f"{rows:,} losses", fitted, rows / fitted.wall_seconds)],
    )
    return show(report, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
