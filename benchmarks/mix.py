"""Plan a mixture of a store that is measured already: how long until it is known what every stratum gives.

    python -m benchmarks.mix [--quick] [--json]

A store of 10 M samples in shards of 65 536 rows, with real objects, commits and manifests: languages with their scores,
and the tokens of each text. The command is `winnow mix --plan-only`, start-up included, on a recipe with a rule, a
budget in tokens, languages by temperature, the better half of each language by score, two stages and a validation
split; each run asks for another budget. Wanted: at most 10 seconds. The full run is the median of three, `--quick` one
run of the same size.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.inputs.made_stores import cached_store
from benchmarks.measuring.reporting import Limit, Report, Row, benchmark_arguments, measure, median_of, show
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.schemas.recipe import Recipe, recipe_from_text

ROWS = 10_000_000
WANTED_SECONDS = 10.0
MEASURE = "text.language"
LANGUAGES = tuple(
    f"{code}_{script}"
    for script, codes in {
        "Latn": "eng deu fra spa por ita pol nld ces vie tur swe hun ron fin dan ind swh",
        "Cyrl": "rus ukr bul",
        "Arab": "arb fas",
        "Hani": "cmn",
        "Jpan": "jpn",
        "Hang": "kor",
        "Grek": "ell",
        "Deva": "hin",
        "Thai": "tha",
        "Hebr": "heb",
        "Beng": "ben",
        "Taml": "tam",
    }.items()
    for code in codes.split()
)

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
text: samples.text
annotate: [text.language]
keep:
  - {{drop: "text.language.score < 0.2", reason: language, when_null: drop}}
mix:
  unit: tokens
  tokenizer: bytes
  languages: {{temperature: 3.3}}
  bands: {{by: text.language.score, top: 0.5}}
  split: {{validation: 0.001, min_samples: 100}}
  stages:
    core: {{budget: {budget}}}
    long: {{budget: 100_000_000, where: mix.tokens.tokens > 3000, bands: {{by: mix.tokens.tokens, softmax: 1000}}}}
"""


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    store = cached_store(
        "mix", ROWS, lambda folder: _recipe(folder, 1), {MEASURE: made_languages, TOKENS_LAYER: made_tokens}
    )
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        budgets = iter(range(ROWS * 500, ROWS * 600, 1000))

        def planned() -> list[str]:
            recipe = Path(scratch).absolute() / "recipe.yaml"
            recipe.write_text(_recipe_text(store, next(budgets)))
            command = [sys.executable, "-m", "winnow", "mix", str(recipe), "--plan-only", "--json"]
            return [*command, "--output", str(Path(scratch) / "plan.json")]

        measure(planned())  # the objects are in the page cache after this
        took = median_of(1 if options.quick else 3, lambda: measure(planned()))
    rate = ROWS / took.wall_seconds
    limit = Limit("planning a mixture", took.wall_seconds, WANTED_SECONDS, "seconds")
    return show(
        Report("mix", "samples/s", rate, limit=limit, rows=[Row("winnow mix", f"{ROWS:,} rows", took, rate)]),
        options.json,
    )


def _recipe_text(folder: Path, budget: int) -> str:
    return RECIPE.format(store=folder / "store", root=folder / "crawl", budget=budget)


def _recipe(folder: Path, budget: int) -> Recipe:
    return recipe_from_text(_recipe_text(folder, budget), str(folder / "recipe.yaml"))


def made_languages(seed: int, count: int) -> pa.Table:
    """A layer `text.language`."""
    (measured,) = bind(_recipe(Path("."), 1)).operators
    chance = np.random.default_rng(seed)
    columns = {
        "status": pa.repeat("ok", count),
        "code": pa.array(np.array(LANGUAGES)[(chance.zipf(1.3, count) - 1) % len(LANGUAGES)]),
        "score": pa.array(chance.beta(5, 1, count)),
    }
    made = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in measured.schema
    ]
    return pa.table(made, schema=measured.schema)


def made_tokens(seed: int, count: int) -> pa.Table:
    """A layer of token counts."""
    sizes = np.random.default_rng(seed).lognormal(7, 1, count).astype(np.int64) + 1
    return pa.table([pa.repeat("ok", count), pa.array(sizes), pa.array(sizes)], schema=TOKENS)


if __name__ == "__main__":
    sys.exit(main())
