"""Repeated substrings: every run of 100 bytes that occurs twice in some texts, against a suffix array of them all.

    python -m benchmarks.substrings [--quick] [--json] [--rows N]

The peer is the search of Lee et al.'s deduplicate-text-datasets, restated in `benchmarks/substrings.rs` on the crate
that its suffix array comes from; cargo builds it. It gets all texts in one file and holds them and their suffix array
in memory; how texts get there does not count. Ours is `winnow annotate` on a store that has the same texts, with
reading, all exchange and writing the layer; ingest does not count. Both have one core, and must find as many bytes.
Real documents in thirty languages, of which a third repeats. Ratios compare CPU time, medians of three.
`--rows` takes so many texts of `benchmarks.inputs.planted` instead and shows ours alone, with two workers and by words:
how time and memory grow.
"""

import os
import shutil
import sys
import tempfile
import unicodedata
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.planted import write_corpus
from benchmarks.measuring.environments import peer_cargo
from benchmarks.measuring.reporting import (
    Amounts,
    Measured,
    Report,
    benchmark_arguments,
    compared,
    measure,
    row_of,
    show,
    timed,
)
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location

MANY, QUICK_MANY, SMALL = 50_000, 10_000, 500
BYTES = 100
LAYER = "text.repeated_substrings"
PEER, BY_WORDS = "suffix array", "suffix array, ours by words"
FLOORS = {PEER: 0.5, BY_WORDS: 0.5}

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  documents: {{root: {root}, files: ["part-*.parquet"], class: web, key: id, columns: {{text: text}}}}
text: samples.text
annotate: [{{{layer}: {settings}}}]
"""


def main() -> int:
    """Ours, the peer, and whether both found the same."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, help="planted texts for ours alone")
    arguments = parser.parse_args()
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache", prefix="substrings-") as name:
        folder = Path(name).absolute()
        if arguments.rows:
            return _grown(folder, arguments.rows, arguments.json)
        return _beside_peer(folder, arguments.quick, arguments.json)


def _grown(folder: Path, rows: int, as_json: bool) -> int:
    took = _annotate(folder, write_corpus(CACHE, rows).absolute(), "{}", 2)
    ours = row_of("winnow annotate, words", "texts", Amounts(rows, rows, 0), took, Measured(0, 0, 0, 0, ""))
    return show(Report("substrings", "texts/CPU-s", ours.rate, rows=[ours]), as_json)


def _beside_peer(folder: Path, quick: bool, as_json: bool) -> int:
    amounts = Amounts(QUICK_MANY if quick else MANY, MANY, SMALL)
    rounds = 1 if quick else 3
    settings = f"{{unit: byte, min_tokens: {BYTES}, keep: none}}"
    for one in (settings, "{}"):  # what is compiled, is compiled once a machine
        _ours(folder, one, SMALL)
    ours = timed("winnow, bytes", "documents", amounts, partial(_ours, folder, settings), rounds)
    words = timed("winnow, words", "documents", amounts, partial(_ours, folder, "{}"), rounds)
    rows, peers = [ours, words], {}
    if (program := peer_cargo("suffix-array", Path(__file__).with_suffix(".rs"))) is not None:
        theirs = timed(PEER, "documents", amounts, partial(_theirs, folder, program), rounds)
        found, wanted = ours.measured.last_line, theirs.measured.last_line.split()[-1]
        print(f"bytes in repeated runs: {found} by ours, {wanted} by the suffix array")
        if found != wanted:
            raise SystemExit("benchmarks.substrings: the answers differ")
        rows.append(theirs)
        peers = dict.fromkeys((PEER, BY_WORDS), theirs)
    floors = FLOORS if peers else {}
    beside = {BY_WORDS: words}
    report = compared("substrings", "documents/CPU-s", ours, peers, beside, floors=floors, rows=rows, quick=quick)
    return show(report, as_json)


def _ours(folder: Path, settings: str, documents: int) -> Measured:
    return _annotate(folder, _documents(folder, documents), settings, 1)


def _annotate(folder: Path, root: Path, settings: str, workers: int) -> Measured:
    """Measures the layer alone; its last line is how many tokens repeat."""
    store, ingested, recipe = folder / "store", folder / f"ingested-{root.name}", folder / "recipe.yaml"

    def winnow(command: str, path: Path) -> Measured:
        recipe.write_text(RECIPE.format(store=path, root=root, layer=LAYER, settings=settings))
        return measure([sys.executable, "-m", "winnow", command, str(recipe), "--workers", str(workers)])

    if not ingested.exists():
        winnow("ingest", ingested)
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(ingested, store, copy_function=os.link)  # a store never changes an object
    took = winnow("annotate", store)
    opened = open_store(open_location(str(store)))
    batches = (
        batch for row in opened.manifest(opened.require_latest(), LAYER) for batch in opened.batches(row, ["repeated"])
    )
    repeated = sum(pc.sum(batch.column(0)).as_py() or 0 for batch in batches)
    return Measured(took.wall_seconds, took.cpu_seconds, took.peak_bytes, took.peak_bytes_bound, str(repeated))


def _documents(folder: Path, count: int) -> Path:
    """A folder with a file of the first documents, in composed form, in which ours reads them."""
    root = folder / f"documents-{count}"
    if not root.exists():
        root.mkdir()
        table = pq.read_table(cached_documents(MANY), columns=["id", "text"]).slice(0, count)
        texts = [unicodedata.normalize("NFC", text) for text in table["text"].to_pylist()]
        table = table.set_column(1, "text", [texts])
        pq.write_table(table, root / "part-0.parquet", compression="zstd", row_group_size=2_048)
    return root


def _theirs(folder: Path, program: Path, documents: int) -> Measured:
    root = _documents(folder, documents)
    texts, ends = root / "texts", root / "ends"
    if not texts.exists():
        raw = [text.encode() for text in pq.read_table(root / "part-0.parquet")["text"].to_pylist()]
        texts.write_bytes(b"".join(raw))
        ends.write_bytes(np.cumsum([len(one) for one in raw]).astype("<u8").tobytes())
    return measure([str(program), str(texts), str(ends), str(BYTES), str(root / "ranges")])


if __name__ == "__main__":
    raise SystemExit(main())
