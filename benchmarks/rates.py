"""How fast one core does each part of a run: the file of rates that `winnow plan` estimates with.

Each part runs by itself on one worker over few real documents, over many, and over the lines of some as rows of their
own; its record in the store's run log says how many rows and how much text these were, and how much CPU that took. What
fits all three best is its rate: what starting takes, a byte of text, and a row. Prints the file; `recipes/rates.yaml`
is one, with the engines added by hand.

    python -m benchmarks.rates [--quick]
"""

import argparse
import os
import platform
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from scipy.optimize import nnls

from benchmarks.inputs.documents import cached_documents
from benchmarks.inputs.pages import cached_warc
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.estimating.run_log import RunRecord, read_runs
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.exports.recipe_exports import export
from winnow.schemas.recipe import Recipe, load_recipe

OPERATORS = (
    "text.language",  # first: others read it
    *(
        "page.opt_out",
        "text.c4",
        "text.controls",
        "text.digest",
        "text.fineweb",
        "text.fineweb2",
        "text.gopher",
        "text.length",
    ),
    *("text.madlad", "text.minhash", "text.pii", "text.refinedweb", "text.secrets", "text.spam"),
    *("text.unigram", "text.wordlist", "url.canonical"),
)
EXPORTS = ("parquet", "webdataset", "jsonl")
ONE = Engine("local", 1)
QUIET = Console(quiet=True)

RECIPE = """
version: 1
store: {{path: store, seed: 7}}
sources:
  documents: {{root: input, files: ["*"], class: web, key: {key}}}
{more}
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer documents")
    options = parser.parse_args()
    many, few = (3_000, 500) if options.quick else (26_000, 500)
    print(f'machine: "one core of {_processor()}, {platform.system()}"')
    print("rates:", flush=True)
    some = 1_500 if options.quick else 6_000
    for extractor, count in (("resiliparse", some), ("main", some), ("trafilatura", 1_500)):
        _print(_extracted(extractor, count))
    with tempfile.TemporaryDirectory(prefix="winnow-rates-") as name:
        # The first run of a part in this process loads what the next ones find loaded: it counts for nothing.
        counts = {"first": few, "few": few, "many": many}
        places = [(Path(name, place), cached_documents(count)) for place, count in counts.items()]
        places.append((Path(name, "lines"), _lines(cached_documents(many), Path(name, "lines.parquet"), 10 * many)))
        for part in ("ingest", *OPERATORS, "dedupe.exact", "dedupe.near", *(f"export.{form}" for form in EXPORTS)):
            _, *runs = (_run(part, folder, documents) for folder, documents in places)
            for records in zip(*runs, strict=True):
                _print_fit(records)


def _lines(documents: Path, target: Path, most: int) -> Path:
    """The lines of documents as rows of their own."""
    texts = pq.read_table(documents, columns=["text"])["text"].combine_chunks()
    lines = pc.list_flatten(pc.split_pattern(texts, "\n"))
    lines = lines.filter(pc.greater(pc.binary_length(lines), 0)).slice(0, most)
    ids = pa.array(range(len(lines))).cast(pa.string())
    pq.write_table(pa.table({"id": ids, "text": lines}), target)
    return target


def _extracted(extractor: str, pages: int) -> RunRecord:
    with tempfile.TemporaryDirectory(prefix="winnow-rates-") as name:
        recipe = _recipe(Path(name), cached_warc(pages), _extract(extractor), key="")
        stages.ingest(bind(recipe), ONE, QUIET)
        return _last(Path(name), "ingest")


def _run(part: str, folder: Path, documents: Path) -> list[RunRecord]:
    """The records of one part over these documents; with the first export comes the count of what it mixes."""
    kind, _, name = part.partition(".")
    if part == "ingest":
        stages.ingest(bind(_recipe(folder, documents, "")), ONE, QUIET)
        return [_last(folder, "ingest")]
    if kind == "dedupe":
        stages.dedupe(bind(_recipe(folder, documents, f"dedupe: {{{name}: {{}}}}")), ONE, QUIET)
        return [_last(folder, "dedupe")]
    if kind == "export":
        more = f"mix: {{unit: bytes}}\nexport: [{{{name}: {{path: out/{name}}}}}]"
        export(bind(_recipe(folder, documents, more)), ONE, QUIET)
        return [_last(folder, stage) for stage in (("mix", "export") if name == EXPORTS[0] else ("export",))]
    names = ", ".join(dict.fromkeys(("text.language", part)))  # which stands by then, so that it costs nothing
    stages.annotate(bind(_recipe(folder, documents, f"annotate: [{names}]")), ONE, QUIET)
    return [_last(folder, "annotate.cpu")]


def _recipe(folder: Path, source: Path, more: str, key: str = "id") -> Recipe:
    (folder / "input").mkdir(parents=True, exist_ok=True)
    target = folder / "input" / source.name
    if not target.exists():
        try:
            os.link(source, target)
        except OSError:  # another disk
            shutil.copyfile(source, target)
    text = RECIPE.format(key=key, more=more)
    if not key:
        text = text.replace(", key: }", "}")
    file = folder / "recipe.yaml"
    file.write_text(text)
    return load_recipe(file)


def _extract(extractor: str) -> str:
    return f"extract: {{{extractor}: {{}}}}\ntext: coalesce(extract.{extractor}.text, samples.text)"


def _last(folder: Path, stage: str) -> RunRecord:
    return [record for record in read_runs(open_store_at(folder / "store").objects) if record.stage == stage][-1]


def _print_fit(records: Sequence[RunRecord]) -> None:
    """The rate of the one part of these runs: all that is beyond starting."""
    (name,) = records[0].parts
    parts = [record.parts[name] for record in records]
    taken = np.array([record.cpu_seconds or 0.0 for record in records])
    known = np.array([[1.0, part.contents.text / 1e6, part.contents.rows / 1e6] for part in parts])
    (_, of_text, of_row), _ = nnls(known / taken[:, None], np.ones(len(parts)))  # each run counts the same
    speed = 1 / of_text if of_text else 1e6
    many = parts[1]
    shuffled = (records[1].shuffled or 0) / many.read
    more = f", shuffled: {shuffled:.3g}" if shuffled else ""
    rate = f"mb_per_second: {speed:.3g}, row_microseconds: {of_row:.3g}, written: {many.written / many.read:.3g}{more}"
    print(f"  {name}: {{{rate}}}", flush=True)


def _print(record: RunRecord) -> None:
    assert record.cpu_seconds is not None
    for name, part in record.parts.items():
        speed = part.contents.text / record.cpu_seconds / 1e6
        shuffled = (record.shuffled or 0) / part.read
        more = f", shuffled: {shuffled:.3g}" if shuffled else ""
        print(f"  {name}: {{mb_per_second: {speed:.3g}, written: {part.written / part.read:.3g}{more}}}", flush=True)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


if __name__ == "__main__":
    main()
