"""Short rows, more and more of them, from files to an export: what each stage takes, and how that grows.

    python -m benchmarks.growth_rows [--quick] [--json] [--rows N,N…]

Texts of some 150 bytes (`benchmarks.inputs.short_rows`), a tenth of them copies, go through the stages of a text
recipe: ingest, annotate with six operators, dedupe (exact and near), mix and export, each a command with two workers.
CPU time is that of all processes of a command; memory is the peak of their sum. `--quick` has 20,000 and 200,000 rows,
`--rows` others. Wanted: ten times the rows take at most 10.5 times the CPU time, and no stage more than 6 GiB.
"""

import argparse
import itertools
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.short_rows import cached_short_rows
from benchmarks.measuring.reporting import GIB, Limit, Measured, benchmark_arguments, judged, measure

ROWS, QUICK_ROWS = (200_000, 2_000_000, 20_000_000), (20_000, 200_000)
STAGES = ("ingest", "annotate", "dedupe", "mix", "export")
CPU_ALLOWED = 10.5  # times, for ten times the rows
MEMORY_ALLOWED = 6 << 30
RECIPE = """
version: 1
store: {{path: {folder}/store}}
sources:
  posts: {{root: {root}, files: ["*.parquet"], class: web, columns: {{text: text}}}}
annotate: [text.length, {{text.language: {{model: winnow}}}}, text.gopher, text.c4, text.fineweb, text.pii]
eligible:
  - {{drop: text.gopher.words < 3, reason: short, when_null: drop}}
dedupe: {{exact: {{}}, near: {{min_similarity: 0.75}}, representative: [longest]}}
edits: [text.pii]
mix: {{unit: tokens, tokenizer: bytes, budget: {budget}, split: {{validation: 0.01}}}}
export: [{{parquet: {{path: {folder}/out}}}}]
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One stage on so many rows."""

    stage: str
    rows: int
    took: Measured


def stages_of(rows: int, folder: Path) -> Iterator[Run]:
    """Run each stage on a new store."""
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(folder=folder, root=cached_short_rows(rows).absolute(), budget=100 * rows))
    for stage in STAGES:
        command = [sys.executable, "-m", "winnow", stage, str(recipe), "--workers", "2"]
        yield Run(stage, rows, measure(command))


def limits_of(runs: Sequence[Run]) -> list[Limit]:
    """What each size must keep, in comparison with the one before it."""
    sizes = sorted({run.rows for run in runs})
    seconds = {rows: sum(run.took.cpu_seconds for run in runs if run.rows == rows) for rows in sizes}
    limits = []
    for less, more in itertools.pairwise(sizes):
        allowed = CPU_ALLOWED ** math.log10(more / less)
        limits.append(Limit(f"CPU time of {more:,} rows", seconds[more] / seconds[less], allowed, f"times {less:,}"))
    for stage in STAGES:
        most = max(run.took.peak_bytes for run in runs if run.stage == stage)
        limits.append(Limit(f"{stage}: memory", most / GIB, MEMORY_ALLOWED / GIB, "GiB"))
    return limits


def main() -> int:
    """Measure and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--rows", type=_sizes, metavar="N,N…", help="so many rows, in ascending order")
    options = parser.parse_args()
    runs: list[Run] = []
    print(f"{'stage':<10}{'rows':>12}{'wall s':>9}{'CPU s':>9}{'CPU s a million':>17}{'peak GiB':>10}")
    for rows in options.rows or (QUICK_ROWS if options.quick else ROWS):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            for run in stages_of(rows, Path(folder).absolute()):
                runs.append(run)
                took = run.took
                print(
                    f"{run.stage:<10}{rows:>12,}{took.wall_seconds:>9.1f}{took.cpu_seconds:>9.1f}"
                    f"{took.cpu_seconds * 1e6 / rows:>17.1f}{took.peak_bytes / GIB:>10.2f}",
                    flush=True,
                )
    return judged("growth_rows", limits_of(runs), options.json)


def _sizes(written: str) -> list[int]:
    try:
        found = sorted(map(int, written.split(",")))
    except ValueError:
        found = [0]
    if found[0] < 1:
        raise argparse.ArgumentTypeError(f"expected numbers of rows such as 200000,2000000, not {written!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
