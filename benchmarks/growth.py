"""Ten times the input: how time and memory grow.

    python -m benchmarks.growth [--quick] [--json]

The same archive under three names, then under thirty, each read by two tasks. Both runs use all cores; memory is the
peak of the whole process tree. Wanted: at most 10.5 times the time, at most 1.2 times the memory. `--quick` has smaller
archives and says the full run's rates (`benchmarks.measuring.reporting`).
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.inputs.pages import cached_warc
from benchmarks.measuring.reporting import (
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
store: {{path: {store}, task_bytes: {task_bytes}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{main: {{}}}}
text: extract.main.text
"""

COPIES, ARCHIVES = 10, 3
PAGES, QUICK_PAGES = 30_000, 1_500  # of an archive
TASKS = 2  # of an archive: small ones would be packed into one task, for one worker
SMALL = 300  # pages: hardly more than start-up
TIME_ALLOWED, MEMORY_ALLOWED = 10.5, 1.2


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    pages = QUICK_PAGES if options.quick else PAGES
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()
        startup = _ingest(folder, cached_warc(SMALL).absolute(), 1)
        warc = cached_warc(pages).absolute()
        runs = {copies: _ingest(folder, warc, ARCHIVES * copies) for copies in (1, COPIES)}
    once, ten = (
        row_of(
            "once" if copies == 1 else "ten times",
            "pages",
            Amounts(ARCHIVES * copies * pages, ARCHIVES * copies * PAGES, SMALL),
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
    task_bytes = warc.stat().st_size // TASKS + 1
    recipe.write_text(RECIPE.format(store=store, root=crawl, task_bytes=task_bytes))
    return measure([sys.executable, "-m", "winnow", "ingest", str(recipe)])


if __name__ == "__main__":
    sys.exit(main())
