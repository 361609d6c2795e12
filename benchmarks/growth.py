"""Ten times the input: how time and memory grow.

    python -m benchmarks.growth [--quick] [--json]

The same archive under one name, then under ten. Both runs use all cores; memory is the peak of the whole
process tree. Wanted: at most 10.5 times the time, at most 1.2 times the memory. `--quick`
says the full run's rates (`benchmarks.reporting`).
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.inputs.pages import cached_warc
from benchmarks.reporting import (
    Amounts,
    Limit,
    Measured,
    benchmark_arguments,
    compared,
    measure,
    row_of,
    show,
    wall_seconds,
)

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{fast: {{}}}}
text: extract.fast.text
"""

COPIES = 10
PAGES, ARCHIVES = 30_000, 3  # of the full run: over a minute on two cores
QUICK_PAGES = 3_000
SMALL = 300  # pages: hardly more than start-up
TIME_ALLOWED, MEMORY_ALLOWED = 10.5, 1.2


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    pages, base = (QUICK_PAGES, 1) if options.quick else (PAGES, ARCHIVES)
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()
        startup = _ingest(folder, cached_warc(SMALL).absolute(), 1)
        warc = cached_warc(pages).absolute()
        runs = {copies: _ingest(folder, warc, base * copies) for copies in (1, COPIES)}
    once, ten = (
        row_of(
            "once" if copies == 1 else "ten times",
            "pages",
            Amounts(base * copies * pages, ARCHIVES * copies * PAGES, SMALL),
            took,
            startup,
            wall_seconds,
        )
        for copies, took in runs.items()
    )
    grown = runs[COPIES].peak_bytes / runs[1].peak_bytes
    report = compared(
        "growth",
        "pages/s",
        ten,
        {"linear": once},
        limit=Limit("memory of ten times the input", grown, MEMORY_ALLOWED, "times"),
        floors={"linear": COPIES / TIME_ALLOWED},
        rows=[once, ten],
        quick=options.quick,
    )
    return show(report, options.json)


def _ingest(folder: Path, warc: Path, copies: int) -> Measured:
    crawl, store = folder / "crawl", folder / "store"
    for path in (crawl, store):
        shutil.rmtree(path, ignore_errors=True)
    crawl.mkdir()
    for number in range(copies):
        os.link(warc, crawl / f"{number:03d}.warc.gz")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(store=store, root=crawl))
    return measure([sys.executable, "-m", "winnow", "ingest", str(recipe)])


if __name__ == "__main__":
    sys.exit(main())
