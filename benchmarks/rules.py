"""Change a threshold and plan again: how long until it is known who stays.

    python -m benchmarks.rules [--quick] [--json]

A store of 10 M samples in shards of 65 536 rows, with real objects, commits and manifests: samples without text, what
an extractor wrote, and the columns of `text.fineweb` filled with numbers of plausible size. The command is `winnow
plan`, start-up included, on a recipe with that preset, rules of its own and one changed threshold. Wanted: at most 10
seconds. The full run is the median of three, `--quick` one run of the same size.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.inputs.made_stores import cached_store
from benchmarks.measuring.reporting import Limit, Report, Row, benchmark_arguments, measure, median_of, show
from winnow.pipelines.binding.bound_recipe import bind
from winnow.schemas.recipe import Recipe, recipe_from_text
from winnow.schemas.rows.extraction import EXTRACTION

ROWS = 10_000_000
WANTED_SECONDS = 10.0
RATIO_SHAPES = {"char_dup_ratio": (0.1, 20), "line_punct_ratio": (6, 2)}  # of beta distributions
MEASURE, PAGES = "text.fineweb", "extract.main"

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{main: {{}}}}
text: extract.main.text
annotate: [{{text.fineweb: {{preset: fineweb}}}}]
eligible:
  - {{drop: "extract.main.status <> 'ok'", reason: extraction}}
  - {{drop: "text.fineweb.words < {least}", reason: short, when_null: drop}}
keep:
  - {{preset: fineweb, rules: {{short_line_ratio: {{drop: "text.fineweb.short_line_ratio > 0.75"}}}}}}
  - {{drop: "text.fineweb.chars > 7 * text.fineweb.words", reason: long_words, when_null: keep}}
  - {{drop: "text.fineweb.stopped_lines * 3 < text.fineweb.lines", reason: few_sentences, when_null: keep}}
  - {{drop: "text.fineweb.duplicate_chars * 2 > text.fineweb.chars", reason: half_repeated, when_null: keep}}
  - {{drop: "text.fineweb.newlines > 5000", reason: many_lines, when_null: keep}}
"""


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    store = _cached_store()
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        least = iter(range(40, 60))

        def changed() -> list[str]:
            recipe = Path(scratch).absolute() / "recipe.yaml"
            recipe.write_text(_recipe_text(store, next(least)))
            return [sys.executable, "-m", "winnow", "plan", str(recipe), "--json"]

        measure(changed())  # the objects are in the page cache after this
        took = median_of(1 if options.quick else 3, lambda: measure(changed()))
    rate = ROWS / took.wall_seconds
    limit = Limit("planning again", took.wall_seconds, WANTED_SECONDS, "seconds")
    return show(
        Report("rules", "samples/s", rate, limit=limit, rows=[Row("winnow plan", f"{ROWS:,} rows", took, rate)]),
        options.json,
    )


def _recipe_text(folder: Path, least: int) -> str:
    return RECIPE.format(store=folder / "store", root=folder / "crawl", least=least)


def _cached_store() -> Path:
    """The folder of the store."""

    def recipe_of(folder: Path) -> Recipe:
        return recipe_from_text(_recipe_text(folder, 50), str(folder / "recipe.yaml"))

    def measures(seed: int, count: int) -> pa.Table:
        (measured,) = bind(recipe_of(Path("."))).operators
        return _measures(measured.schema, seed, count)

    return cached_store("rules", ROWS, recipe_of, {PAGES: _pages, MEASURE: measures})


def _pages(seed: int, count: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    languages = np.array(["en", "de", "fr", "zh-CN", "ru", "es-419", "ja", "pt-BR", "ar", "hi"])
    columns = {
        "status": pa.array(np.where(chance.random(count) < 0.03, "empty", "ok")),
        "language": pa.array(languages[chance.zipf(1.6, count) % len(languages)], mask=chance.random(count) < 0.2),
    }
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in EXTRACTION], schema=EXTRACTION)


def _measures(schema: pa.Schema, seed: int, count: int) -> pa.Table:
    """Every measure null in the same fiftieth of the rows, which have no text."""
    chance = np.random.default_rng(seed)
    absent = chance.random(count) < 0.02
    columns = [pa.array(np.where(absent, "no_text", "ok"))]
    for field in schema.names[1:]:
        kind = schema.field(field).type
        whole = pa.types.is_integer(kind)
        shape = RATIO_SHAPES.get(field, (2, 8))
        values = chance.lognormal(5, 1.5, count).astype(np.int64) if whole else chance.beta(*shape, count)
        columns.append(pa.array(values, mask=absent).cast(kind))
    return pa.table(columns, schema=schema)


if __name__ == "__main__":
    sys.exit(main())
