"""Lines that other documents have too: found in a whole corpus, against two peers on the same documents.

    python -m benchmarks.lines [--quick] [--json] [--documents N] [--memory]

All get real documents in many languages (`benchmarks.inputs.documents`), some 57 lines each, of which most are in other
documents too. CPU time is that of all processes, start-up included, on two cores.

- `winnow`: `winnow annotate` with `text.repeated_lines`, from the store to the layer of spans; `with ingest`, with the
  time in which the texts came into the store.
- `datatrove`: its three stages of sentence deduplication as they are: spans of three sentences, by its tokenizer for
  English. `datatrove, lines`: set to single lines instead. Both keep documents that become short, read Parquet, and
  make the texts without what is cut, which nobody writes.
- `dolma`: its deduplication of paragraphs by a Bloom filter, in Rust, sized for the lines at one false positive in a
  million, as its documentation has it. It reads gzipped JSON lines and writes attributes.

The last lines say how many lines each cuts, and how many of these no other document has: false positives. `--memory`
measures instead what `annotate` takes of 100,000 and of a million pages of ten lines.
"""

import argparse
import gzip
import os
import shutil
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import (
    GIB,
    Amounts,
    Limit,
    Measured,
    Row,
    benchmark_arguments,
    compared,
    judged,
    measure,
    median_of,
    row_of,
    show,
)
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location

DOCUMENTS, QUICK, SMALL = 50_000, 4_000, 500
PAGES, MANY_PAGES = 100_000, 1_000_000
FLOORS = {"datatrove": 10.0}
GROWTH = 1.25  # promised: the memory of ten times as many pages, in that of once
CORES = 2
COOKIES = "We use cookies to give you a better experience."

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  documents: {{root: {root}, files: ["*.parquet"], class: web, key: id}}
annotate: [text.repeated_lines]
"""

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.sentence_dedup import (
    SentDedupConfig, SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups,
)
from datatrove.pipeline.readers import ParquetReader

if __name__ == "__main__":
    files, out = sys.argv[1:]
    config = SentDedupConfig(SETTINGS, min_doc_words=0, min_num_sentences=0)
    def read():
        return ParquetReader(files, glob_pattern="*.parquet")
    stages = {
        "signatures": ([read(), SentenceDedupSignature(out + "/signatures", CORES, config)], CORES),
        "found": ([SentenceFindDedups(out + "/signatures", out + "/found", config=config)], CORES),
        "filter": ([read(), SentenceDedupFilter(out + "/found", config)], CORES),
    }
    for name, (pipeline, many) in stages.items():
        logs = out + "/logs-" + name
        LocalPipelineExecutor(pipeline, tasks=many, workers=CORES, logging_dir=logs, skip_completed=False).run()
"""
SENTENCES, LINES = "3, True", "1, False"  # how many, and whether texts are split into sentences

DOLMA = """
documents: [{documents}]
dedupe:
  name: repeated
  paragraphs: {{attribute_name: repeated}}
  skip_empty: true
bloom_filter: {{file: {filter}, read_only: false, estimated_doc_count: {lines}, desired_false_positive_rate: 1.0e-6}}
processes: {cores}
"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The same documents as each reads them."""

    folder: Path
    count: int

    @classmethod
    def write(cls, folder: Path, count: int) -> "Inputs":
        """Cut the first documents into one file for each core."""
        table = pq.read_table(cached_documents(DOCUMENTS)).slice(0, count)
        size = -(-count // CORES)
        for name in ("parquet", "documents"):
            (folder / name).mkdir(parents=True)
        for part in range(CORES):
            some = table.slice(part * size, size)
            pq.write_table(some, folder / "parquet" / f"part-{part}.parquet")
            with gzip.open(folder / "documents" / f"part-{part}.jsonl.gz", "wb", compresslevel=1) as file:
                for row in some.to_pylist():
                    file.write(orjson.dumps({"id": row["id"], "text": row["text"], "source": "documents"}) + b"\n")
        return cls(folder, count)

    def texts(self, part: int) -> list[str]:
        """The texts of a part, in order."""
        texts: list[str] = pq.read_table(self.folder / "parquet" / f"part-{part}.parquet")["text"].to_pylist()
        return texts

    def lines(self) -> Iterator[str]:
        """All lines."""
        for part in range(CORES):
            for text in self.texts(part):
                yield from text.split("\n")


def main() -> int:
    """Measure, judge and print."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="for each")
    parser.add_argument("--memory", action="store_true", help="measure the memory of 100,000 and of a million pages")
    options = parser.parse_args()
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache", prefix="lines-") as name:
        scratch = Path(name).absolute()
        return _memory(scratch, options) if options.memory else _speed(scratch, options)


def _speed(scratch: Path, options: argparse.Namespace) -> int:
    now, rounds = (QUICK, 1) if options.quick else (options.documents, 3)
    ours, small = Inputs.write(scratch / "ours", options.documents), Inputs.write(scratch / "small", SMALL)
    theirs = Inputs.write(scratch / "theirs", now)
    _winnow(small, 1)  # what is compiled, is compiled once a machine
    taken, few = _winnow(ours, rounds), _winnow(small, rounds)
    amounts = Amounts(ours.count, options.documents, SMALL)
    row = row_of("winnow annotate", "documents", amounts, taken[1], few[1])
    both = row_of("winnow, with ingest", "documents", amounts, _together(*taken), _together(*few))
    rows, peers = [row, both], dict[str, Row]()
    for peer, run in PEERS.items():
        amounts = Amounts(theirs.count, options.documents, SMALL)
        peers[peer] = row_of(peer, "documents", amounts, run(theirs), run(small))
        rows.append(peers[peer])
    ours_for = {f"{peer}, with ingest": both for peer in peers}
    beside = {**peers, **{f"{peer}, with ingest": found for peer, found in peers.items()}}
    report = compared("lines", "documents/s", row, beside, ours_for, floors=FLOORS, rows=rows, quick=options.quick)
    status = show(report, options.json)
    _judge(ours, theirs)
    return status


def _winnow(inputs: Inputs, rounds: int) -> tuple[Measured, Measured]:
    """What taking in and measuring the documents takes; the last store stays."""
    recipe, ingested, store = (inputs.folder / name for name in ("recipe.yaml", "ingested", "store"))

    def run(command: str, path: Path) -> Measured:
        recipe.write_text(RECIPE.format(store=path, root=inputs.folder / "parquet"))
        return measure([sys.executable, "-m", "winnow", command, str(recipe), "--workers", str(CORES)])

    def annotate() -> Measured:
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(ingested, store, copy_function=os.link)  # a store never changes an object
        return run("annotate", store)

    shutil.rmtree(ingested, ignore_errors=True)
    return run("ingest", ingested), median_of(rounds, annotate)


def _datatrove(settings: str, inputs: Inputs) -> Measured:
    out = inputs.folder / f"datatrove-{settings[0]}"
    shutil.rmtree(out, ignore_errors=True)
    script = inputs.folder / "script.py"  # workers need a file to import
    script.write_text(DATATROVE.replace("SETTINGS", settings).replace("CORES", str(CORES)))
    return measure([str(peer_python("datatrove")), str(script), str(inputs.folder / "parquet"), str(out)])


def _dolma(inputs: Inputs) -> Measured:
    config, bits = inputs.folder / "dolma.yaml", inputs.folder / "bloom.bin"
    bits.unlink(missing_ok=True)
    shutil.rmtree(inputs.folder / "attributes", ignore_errors=True)
    documents, lines = inputs.folder / "documents" / "*.gz", sum(1 for _ in inputs.lines())
    config.write_text(DOLMA.format(documents=documents, filter=bits, lines=lines, cores=CORES))
    python = peer_python("dolma")  # runs the script, which may name an interpreter that has moved
    return measure([str(python), str(python.with_name("dolma")), "-c", str(config), "dedupe"])


PEERS: dict[str, Callable[[Inputs], Measured]] = {
    "datatrove": partial(_datatrove, SENTENCES),
    "datatrove, lines": partial(_datatrove, LINES),
    "dolma": _dolma,
}


def _judge(ours: Inputs, theirs: Inputs) -> None:
    """Say how many lines are cut, and how many of them no other document has."""
    judged_by = (("winnow", ours, _cut_by_winnow, compared_forms), ("dolma", theirs, _cut_by_dolma, list[str]))
    for name, inputs, cut, forms in judged_by:
        counts = Counter(forms(inputs.lines()))
        lines = forms(cut(inputs))
        false = sum(counts[line] < 2 for line in lines)
        print(f"{name}: of {counts.total():,} lines {len(lines):,} are cut, of which {false:,} occur once")


def compared_forms(lines: Iterable[str]) -> list[str]:
    """Lines as winnow compares them."""
    composed = pa.array([unicodedata.normalize("NFC", line) for line in lines], pa.large_string())
    return [" ".join(line.split()) for line in pc.utf8_lower(composed).to_pylist()]


def _cut_by_winnow(inputs: Inputs) -> Iterator[str]:
    store = open_store(open_location(str(inputs.folder / "store")))
    generation = store.require_latest()
    samples, layer = (store.manifest(generation, name) for name in ("samples", "text.repeated_lines"))
    for one, other in zip(samples, layer, strict=True):
        texts = (text for batch in store.batches(one, ["text"]) for text in batch.column(0).to_pylist())
        spans = (row for batch in store.batches(other, ["removed"]) for row in batch.column(0).to_pylist())
        for text, removed in zip(texts, spans, strict=True):
            utf8 = text.encode()
            for span in removed or ():
                lines = utf8[span["start"] : span["end"]].decode().split("\n")
                yield from (line for line in lines if line.strip())


def _cut_by_dolma(inputs: Inputs) -> Iterator[str]:
    for part in range(CORES):
        with gzip.open(inputs.folder / "attributes" / "repeated" / f"part-{part}.jsonl.gz") as file:
            for text, line in zip(inputs.texts(part), file, strict=True):
                for start, end, _ in orjson.loads(line)["attributes"]["repeated"]:
                    yield text[start:end].strip("\n")


def _together(*commands: Measured) -> Measured:
    """What commands took, one after the other."""
    return Measured(
        sum(one.wall_seconds for one in commands),
        sum(one.cpu_seconds for one in commands),
        max(one.peak_bytes for one in commands),
        max(one.peak_bytes_bound for one in commands),
        commands[-1].last_line,
    )


def _memory(scratch: Path, options: argparse.Namespace) -> int:
    """Compare the memory of many pages with that of a tenth of them."""
    many = MANY_PAGES // 10 if options.quick else MANY_PAGES
    peaks = []
    for count in (many // 10, many):
        inputs = Inputs(scratch / str(count), count)
        write_pages(inputs.folder / "parquet", count)
        _, took = _winnow(inputs, 1)
        shutil.rmtree(inputs.folder)
        peaks.append(took.peak_bytes)
        print(f"{count:,} pages: {took.peak_bytes / GIB:.2f} GiB, {took.cpu_seconds:.1f} CPU-s", flush=True)
    limit = Limit("memory of ten times as many pages", peaks[1] / peaks[0], GROWTH, "times")
    return judged("lines", [limit], options.json)


def write_pages(folder: Path, count: int) -> None:
    """Pages of ten lines: four of their site, one that is anywhere, and five of their own."""
    folder.mkdir(parents=True)
    words = (
        "river",
        "stone",
        "window",
        "garden",
        "letter",
        "engine",
        "market",
        "winter",
        "signal",
        "harbour",
        "copper",
    )
    for part, begin in enumerate(range(0, count, PAGES)):
        texts = []
        for page in range(begin, min(begin + PAGES, count)):
            site = page * 7919 % (count // 50 + 1)
            own = [
                f"On page {page} the {words[(page + at) % 11]} of {words[page // 11 % 11]} is told {at} times"
                for at in range(5)
            ]
            menu = [f"Site {site} | {word} | Contact | About us" for word in words[:2]]
            end = [f"All rights reserved by the owners of site {site}", f"Printed from site {site}, page view", COOKIES]
            texts.append("\n".join([*menu, *own, *end]))
        ids = pa.array([str(page) for page in range(begin, begin + len(texts))])
        table = pa.table({"id": ids, "text": pa.array(texts, pa.large_string())})
        pq.write_table(table, folder / f"part-{part:03}.parquet")


if __name__ == "__main__":
    sys.exit(main())
