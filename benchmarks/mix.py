"""Plan a mixture of a store that is measured already, beside bare SQL over the same columns.

    python -m benchmarks.mix [--quick] [--json]

A store of 10 M samples in shards of 65 536 rows, with real objects, commits and manifests: languages with their scores,
and the tokens of each text. The command is `winnow mix --plan-only`, start-up included, on a recipe with a rule, a
budget in tokens, languages by temperature, the better half of each language by score, two stages and a validation
split; each run asks for another budget. The peer is DuckDB in a bare script that reads the same two layers, which it
is told lie row by row beside each other, and draws the same amounts by windows over languages: without an audit of
what it reads, copies of rows, or anything to hand to an export. The full run is the median of three, `--quick` one run
of the same size.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.inputs.made_stores import cached_store
from benchmarks.measuring.reporting import Report, Row, benchmark_arguments, measure, median_of, show
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.schemas.recipe import Recipe, recipe_from_text

ROWS = 10_000_000
PROMISED = 0.4  # of the rate of bare SQL
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


BARE = """
import glob, sys
import duckdb

languages, tokens = (sorted(glob.glob(f"{sys.argv[1]}/store/layers/{name}/*/*.parquet")) for name in sys.argv[2:4])
engine = duckdb.connect()
engine.execute('''create table candidates as select code, score, tokens, hash(of.filename, of.file_row_number) as place
    from read_parquet($1, filename = true, file_row_number = true) of positional join read_parquet($2)
    where score >= 0.2''', [languages, tokens])
engine.execute('''create table validation as select code, place from candidates
    qualify sum(tokens) over (partition by code order by place) <= 0.001 * sum(tokens) over (partition by code)''')
engine.execute('''create table better as from candidates qualify
    2 * sum(tokens) over (partition by code order by score desc, place) <= sum(tokens) over (partition by code)''')
engine.execute('''create table core as select code, place from better join (
        select code, pow(sum(tokens), 1 / 3.3) as part from better group by code) using (code)
    qualify sum(tokens) over (partition by code order by place) <= 5e9 * part / (
        select sum(part) from (select pow(sum(tokens), 1 / 3.3) as part from better group by code))''')
engine.execute('''create table long as select code, place from (
        select code, place, tokens, ntile(10) over (partition by code order by tokens) as band
        from candidates where tokens > 3000)
    qualify sum(tokens) over (partition by code, band order by place) <= 1e8 / 320''')
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

        bare_script = [sys.executable, "-c", BARE, str(store), MEASURE, TOKENS_LAYER]
        measure(planned())  # the objects are in the page cache after this
        rounds = 1 if options.quick else 3
        took = {
            "winnow mix": median_of(rounds, lambda: measure(planned())),
            "bare SQL": median_of(rounds, lambda: measure(bare_script)),
        }
    rows = [Row(case, f"{ROWS:,} rows", one, ROWS / one.wall_seconds) for case, one in took.items()]
    ours, bare = rows
    peers, floors = {"bare SQL": bare.rate}, {"bare SQL": PROMISED}
    return show(
        Report("mix", "samples/s", ours.rate, peers, floors=floors, rows=rows, quick=options.quick), options.json
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
