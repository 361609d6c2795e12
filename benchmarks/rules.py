"""Change a threshold and plan again: how long until it is known who stays.

    python -m benchmarks.rules [--quick] [--json]

A store of 10 M samples (with --quick 1 M) in shards of 65 536 rows, with real objects, commits and manifests: samples
without text, what an extractor wrote, and the columns of `text.fineweb` filled with numbers of plausible size. The
command is `winnow plan`, start-up included, on a recipe with that preset, rules of its own and one changed threshold.
Wanted: at most 10 seconds.
"""

import gzip
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.pages import CACHE
from benchmarks.reporting import Limit, Report, Row, benchmark_arguments, measure, median_of, show
from winnow.pipelines.annotate.bound import bind_operators
from winnow.pipelines.ingest.binding import ingest_context, store_record
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open, next_generation
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.extraction import EXTRACTION
from winnow.schemas.identity import digest, fingerprint_of
from winnow.schemas.recipe import Recipe, recipe_from_text
from winnow.schemas.records import LayerCommit, ObjectRecord, ShardRecord, TaskCommit
from winnow.schemas.samples import SAMPLES

SHARD_ROWS = 65_536
VARIANTS = 8  # shards of different content; the others are copies of theirs, under names and in files of their own
WANTED_SECONDS = 10.0
RATIO_SHAPES = {"char_dup_ratio": (0.1, 20), "line_punct_ratio": (6, 2)}  # of beta distributions
MEASURE, PAGES = "text.fineweb", "extract.fast"

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
extract: {{fast: {{}}}}
text: extract.fast.text
annotate: [{{text.fineweb: {{preset: fineweb}}}}]
eligible:
  - {{drop: "extract.fast.status <> 'ok'", reason: extraction}}
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
    rows = 1_000_000 if options.quick else 10_000_000
    store = _cached_store(rows)
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        least = iter(range(40, 60))

        def changed() -> list[str]:
            recipe = Path(scratch).absolute() / "recipe.yaml"
            recipe.write_text(_recipe_text(store, next(least)))
            return [sys.executable, "-m", "winnow", "plan", str(recipe), "--json"]

        measure(changed())  # the objects are in the page cache after this
        took = median_of(1 if options.quick else 3, lambda: measure(changed()))
    rate = rows / took.wall_seconds
    limit = Limit("planning again", took.wall_seconds, WANTED_SECONDS, "seconds")
    return show(
        Report("rules", "samples/s", rate, limit=limit, rows=[Row("winnow plan", f"{rows:,} rows", took, rate)]),
        options.json,
    )


def _recipe_text(folder: Path, least: int) -> str:
    return RECIPE.format(store=folder / "store", root=folder / "crawl", least=least)


def _cached_store(rows: int) -> Path:
    """The folder of a store of so many rows; made when the layers' keys are not those of the last one."""
    folder = (CACHE / f"rules-{rows}").absolute()
    (folder / "crawl").mkdir(parents=True, exist_ok=True)
    (folder / "crawl" / "none.warc.gz").write_bytes(gzip.compress(b""))  # a source has a file, if one without records
    recipe = recipe_from_text(_recipe_text(folder, 50), str(folder / "recipe.yaml"))
    objects = open_location(str(folder / "store"))
    context = ingest_context(recipe, Store(objects, store_record(recipe)))
    keys = {layer: found["crawl"] for layer, found in expected_keys(context, bind_operators(recipe)).items()}
    stamp = folder / "made-for"
    wanted = fingerprint_of(keys)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder / "store", ignore_errors=True)
        _make_store(recipe, rows, keys)
        stamp.write_text(wanted)
    return folder


def _make_store(recipe: Recipe, rows: int, keys: dict[str, str]) -> None:
    store = create_or_open(open_location(recipe.store.path), store_record(recipe))
    measured = bind_operators(recipe)[0].schema
    makers: dict[str, Callable[[int, int], pa.Table]] = {
        layout.SAMPLES: _samples,
        PAGES: _pages,
        MEASURE: lambda seed, count: _measures(measured, seed, count),
    }
    store.objects.put("stats/none.json", b"{}")
    tasks: list[TaskCommit] = []
    layers: dict[str, list[LayerCommit]] = {PAGES: [], MEASURE: []}
    made: dict[tuple[str, int, int], ObjectRecord] = {}
    for number, start in enumerate(range(0, rows, SHARD_ROWS)):
        count = min(SHARD_ROWS, rows - start)
        shard = f"crawl-{number:05d}-0000"
        written = {}
        for layer, make in makers.items():
            variant = (layer, number % VARIANTS, count)
            if variant not in made:
                made[variant] = _put(store, make(number % VARIANTS, count), layer, keys[layer], shard)
            written[layer] = _copied(store, made[variant], layer, keys[layer], shard)
        task = f"crawl-{number:05d}"
        samples = ShardRecord(shard, written[layout.SAMPLES], "stats/none.json")
        tasks.append(
            TaskCommit(task, keys[layout.SAMPLES], "crawl", (), (samples,), None, None, count, count, {}, {}, 1, "none")
        )
        for layer, commits in layers.items():
            commits.append(
                LayerCommit(
                    layer, keys[layer], shard, "crawl", written[layer], samples.object.path, "stats/none.json", "none"
                )
            )
    next_generation(store, "benchmark", tasks, layers)


def _put(store: Store, table: pa.Table, layer: str, key: str, shard: str) -> ObjectRecord:
    with TableWriter(store.objects, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=SHARD_ROWS // 4):
            writer.write(batch)
        return writer.finish(lambda content: _name(layer, key, shard, content))


def _copied(store: Store, made: ObjectRecord, layer: str, key: str, shard: str) -> ObjectRecord:
    content = made.path.split(".")[-2]
    path = _name(layer, key, shard, content)
    if not store.objects.exists(path):
        store.objects.put(path, store.objects.read(made.path))
    return ObjectRecord(path, made.rows, made.bytes, made.values)


def _name(layer: str, key: str, shard: str, content: str) -> str:
    if layer == layout.SAMPLES:
        return layout.samples_object(shard, content)
    return layout.layer_object(layer, key, shard, content)


def _samples(seed: int, count: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    lengths = chance.integers(2_000, 60_000, count)
    source = pa.StructArray.from_arrays(
        [
            pa.repeat("crawl", count),
            pa.repeat("2024.warc.gz", count),
            pa.array([f"<urn:uuid:{number:032x}>" for number in range(count)]),
            pa.array(np.cumsum(lengths) - lengths),
            pa.array(lengths),
            pa.repeat("bytes", count),
            pa.array(np.zeros(count, np.int32)),
            pa.nulls(count, SAMPLES.field("source").type.field("fetched_at").type),
            pa.nulls(count, pa.string()),
        ],
        fields=list(SAMPLES.field("source").type),
    )
    empty = pa.array(np.zeros(count + 1, np.int32))
    columns = {
        "id": pa.array([digest(seed, number) for number in range(count)], pa.binary(16)),
        "source": source,
        "source_class": pa.repeat("web", count),
        "licence": pa.repeat("unknown", count),
        "url": pa.array([f"https://example.org/{seed}/{number}" for number in range(count)]),
        "domain": pa.repeat("example.org", count),
        "modality": pa.repeat("text", count),
        "mime": pa.repeat("text/html", count),
        "text": pa.nulls(count, pa.large_string()),
        "metadata": pa.repeat("{}", count),
    }
    for name in ("media", "captions"):
        kind = SAMPLES.field(name).type
        columns[name] = pa.ListArray.from_arrays(empty, pa.array([], kind.value_type), type=kind)
    return pa.table([columns[name] for name in SAMPLES.names], schema=SAMPLES)


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
