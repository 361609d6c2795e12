"""Ten times the input: how time and memory grow.

    python -m benchmarks.growth [--quick] [--json]

The same archive under one name, then under ten. Both runs use all cores; memory is the peak of the whole
process tree. Wanted: at most 10.5 times the time, at most 1.2 times the memory.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.pages import cached_warc
from benchmarks.reporting import Limit, Measured, Report, Row, benchmark_arguments, measure, show

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{fast: {{}}}}
text: extract.fast.text
"""

COPIES = 10


TIME_ALLOWED, MEMORY_ALLOWED = 10.5, 1.2


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    pages = 3_000 if options.quick else 30_000
    base = 1 if options.quick else 3  # archives in the small run: over a minute on two cores
    warc = cached_warc(pages).absolute()
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()
        small = _ingest(folder, warc, base)
        large = _ingest(folder, warc, base * COPIES)
    rows = [
        Row("once", f"{base * pages:,} pages", small, base * pages / small.wall_seconds),
        Row("ten times", f"{base * COPIES * pages:,} pages", large, base * COPIES * pages / large.wall_seconds),
    ]
    memory = Limit("memory of ten times the input", large.peak_bytes / small.peak_bytes, MEMORY_ALLOWED, "times")
    floors = {"linear": COPIES / TIME_ALLOWED}
    linear = {"linear": rows[0].rate}
    return show(Report("growth", "pages/s", rows[1].rate, linear, limit=memory, floors=floors, rows=rows), options.json)


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
