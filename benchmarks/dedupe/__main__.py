"""Near duplicates end to end: Parquet in, the layer of decisions out, against four peers on the same files.

    python -m benchmarks.dedupe [--quick] [--json] [--rows N] [--peer-rows N] [--peers NAMES] [--peer-seconds S]

Ours searches a corpus of `benchmarks.inputs.planted` of N texts, a million, and then the smaller one that peers get:
the large one would take datatrove an hour. What `winnow dedupe` takes is counted from its start to its end, with
signing and all writing, median of three; taking the texts into the store comes before, once, and is counted apart.
Peers run once. `--quick` takes fewer texts on both sides and says the full run's rates
(`benchmarks.measuring.reporting`): of few texts most of our time is starting Python and Beam. Ratios compare CPU time
a text:

- `datatrove` and so on: both on the same files.
- `datatrove, with ingest`: the same, with the time in which the texts came into the store.
- `datatrove, each its size`: ours on the large corpus. No peer's time a text falls with more of them.

All get the same two cores. CPU time is that of all processes. `benchmarks.dedupe.peers` says what each peer does,
`benchmarks.dedupe.truth` how all are judged.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedupe.peers import PEERS, Numbers, search_by_peer
from benchmarks.dedupe.truth import THRESHOLD, Quality, Truth, corpus_files, judged, row_numbers
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.planted import write_corpus
from benchmarks.measuring.reporting import (
    Amounts,
    Limit,
    Measured,
    Row,
    benchmark_arguments,
    compared,
    measure,
    median_of,
    row_of,
    show,
    timed,
)
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location

MANY, FEW = 1_000_000, 100_000
QUICK_MANY, QUICK_FEW = 150_000, 10_000
SMALL, PEER_SMALL = 5_000, 1_000  # texts: hardly more than start-up, for ours and for a peer
PEER_SECONDS = 3_600.0
CPU_SECONDS = 0.05  # promised, a thousand texts of a million
FLOORS = {"datatrove, each its size": 50.0}
LEAST_FILES = 4  # for peers that give a file to a worker
CORES = 2
TIMED_OUT = 124  # how `timeout` ends when it has ended a command

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  planted: {{root: {root}, files: ["part-*.parquet"], class: web, key: id, columns: {{text: text}}}}
text: samples.text
dedupe:
  near: {{preset: fineweb, min_similarity: {threshold}}}
"""


@dataclass(frozen=True, slots=True)
class Ours:
    """What taking in and searching a corpus took, and the number of each row's cluster."""

    texts: int
    ingest: Measured
    dedupe: Measured
    clusters: Numbers


class Corpora:
    """Planted corpora of any size, and the files that are searched."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def corpus(self, texts: int) -> Path:
        """With everything that was planted."""
        return write_corpus(CACHE, texts).absolute()

    def files(self, texts: int) -> Path:
        """The ids and the texts alone, in as many files as workers need to share them."""
        folder = self._scratch / f"files-{texts}"
        return folder if folder.exists() else _cut(self.corpus(texts), folder, texts)


@dataclass(frozen=True, slots=True)
class OurRows:
    """What peers are compared with."""

    same: Row  # at the size that peers get in the full run
    with_ingest: Row
    large: Row  # at the size that ours gets there


@dataclass(frozen=True, slots=True)
class Results:
    """What is said in the end."""

    rows: list[Row] = field(default_factory=list)
    peers: dict[str, Row] = field(default_factory=dict)
    ours_for: dict[str, Row] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    qualities: dict[str, Quality] = field(default_factory=dict)  # by the texts of the corpus

    def add(self, row: Row) -> None:
        """A line of the table."""
        print(f"{row.case}: {1000 / row.rate:.4f} CPU-s a thousand texts", file=sys.stderr, flush=True)
        self.rows.append(row)

    def add_peer(self, row: Row, ours: OurRows) -> None:
        """A peer's line, and what it is compared with."""
        self.add(row)
        name = row.case
        beside = {name: ours.same, f"{name}, with ingest": ours.with_ingest, f"{name}, each its size": ours.large}
        self.peers.update(dict.fromkeys(beside, row))
        self.ours_for.update(beside)


def main() -> int:
    """Measure, judge and print."""
    options = _options()
    results = Results()
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache", prefix="dedupe-") as name:
        scratch = Path(name).absolute()
        corpora = Corpora(scratch)
        ours, clusters = search_by_all_sizes(scratch, corpora, options, results)
        for peer in options.peers:
            try:
                row, clusters[peer] = _peer(peer, scratch, corpora, options)
            except SystemExit as ended:  # it does not install, breaks or takes too long: the others still count
                results.skipped[peer] = _reason(ended, options.peer_seconds)
                print(f"{peer}: left out: {results.skipped[peer]}", file=sys.stderr, flush=True)
                continue
            results.add_peer(row, ours)
        results.qualities[f"{options.peer_rows:,}"] = judged(Truth.of(corpora.corpus(options.peer_rows)), clusters)
    return _show(results, ours.large, options)


def search_by_all_sizes(
    scratch: Path, corpora: Corpora, options: argparse.Namespace, results: Results
) -> tuple[OurRows, dict[str, Numbers]]:
    """Our rows at all sizes, and what we found at that of the peers."""
    rounds = 1 if options.quick else 3
    full, full_peers = (MANY, FEW) if options.quick else (options.rows, options.peer_rows)
    search_by_winnow(scratch, corpora.files(PEER_SMALL), PEER_SMALL, 1)  # what is compiled, is compiled once a machine
    small = search_by_winnow(scratch, corpora.files(SMALL), SMALL, rounds)
    same = search_by_winnow(scratch, corpora.files(options.peer_rows), options.peer_rows, rounds)
    large = same
    if options.rows > options.peer_rows:
        large = search_by_winnow(scratch, corpora.corpus(options.rows), options.rows, rounds)
        truth = Truth.of(corpora.corpus(options.rows))
        results.qualities[f"{options.rows:,}"] = judged(truth, {"winnow": large.clusters})
    base = large if options.quick else same  # few texts tell little of the time that each takes
    rows = OurRows(
        _row("winnow dedupe", full_peers, base, small, lambda one: [one.dedupe]),
        _row("winnow, with ingest", full_peers, base, small, lambda one: [one.ingest, one.dedupe]),
        _row("winnow dedupe", full, large, small, lambda one: [one.dedupe]),
    )
    results.add(_row("winnow ingest", full, large, small, lambda one: [one.ingest]))
    results.add(rows.large)
    if large is not same:
        results.add(_row("winnow ingest", full_peers, same, small, lambda one: [one.ingest]))
        results.add(_row("winnow dedupe", full_peers, same, small, lambda one: [one.dedupe]))
    return rows, {"winnow": same.clusters}


def _row(case: str, full: int, large: Ours, small: Ours, commands: Callable[[Ours], list[Measured]]) -> Row:
    """A row of one command, or of several as if they were one."""
    amounts = Amounts(large.texts, full, small.texts)
    return row_of(case, "texts", amounts, _together(commands(large)), _together(commands(small)))


def _together(commands: list[Measured]) -> Measured:
    """What commands took, one after the other."""
    return Measured(
        sum(one.wall_seconds for one in commands),
        sum(one.cpu_seconds for one in commands),
        max(one.peak_bytes for one in commands),
        max(one.peak_bytes_bound for one in commands),
        commands[-1].last_line,
    )


def _peer(name: str, scratch: Path, corpora: Corpora, options: argparse.Namespace) -> tuple[Row, Numbers]:
    """A peer's row, and what it found."""
    found: dict[int, Numbers] = {}

    def search(texts: int) -> Measured:
        searched = search_by_peer(name, _within(options.peer_seconds), corpora.files(texts), scratch, texts)
        found[texts] = searched.clusters
        return searched.measured

    full = FEW if options.quick else options.peer_rows
    return timed(name, "texts", Amounts(options.peer_rows, full, PEER_SMALL), search), found[options.peer_rows]


def search_by_winnow(scratch: Path, files: Path, texts: int, rounds: int) -> Ours:
    """Take a folder's files into a store, search copies of it, and read what the last one says."""
    folder = scratch / "winnow"
    folder.mkdir()
    store, recipe = folder / "store", folder / "recipe.yaml"

    def winnow(command: str, path: Path) -> Measured:
        recipe.write_text(RECIPE.format(store=path, root=files, threshold=THRESHOLD))
        return _run([sys.executable, "-m", "winnow", command, str(recipe), "--workers", str(CORES)], {})

    def dedupe() -> Measured:
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(folder / "ingested", store, copy_function=os.link)  # a store never changes an object
        return winnow("dedupe", store)

    try:
        return Ours(texts, winnow("ingest", folder / "ingested"), median_of(rounds, dedupe), _clusters(store, texts))
    finally:
        shutil.rmtree(folder)


def _clusters(path: Path, texts: int) -> Numbers:
    """The number of each row's cluster, by the number that the corpus gave to the row."""
    store = open_store(open_location(str(path)))
    generation = store.require_latest()

    def column(layer: str, name: str) -> pa.ChunkedArray:
        batches = (batch for row in store.manifest(generation, layer) for batch in store.batches(row, [name]))
        return pa.chunked_array([batch.column(0) for batch in batches])

    places = pa.chunked_array([chunk.field("record") for chunk in column("samples", "source").chunks])
    clusters = column("dedupe.near", "cluster").combine_chunks().dictionary_encode()
    numbers = clusters.indices.fill_null(-1).to_numpy().astype(np.int64)
    alone = numbers < 0  # rows that were not compared
    numbers[alone] = len(clusters.dictionary) + np.arange(int(alone.sum()))
    found = np.full(texts, -1, np.int64)
    found[row_numbers(places)] = numbers
    if (found < 0).any():
        raise SystemExit(f"benchmarks.dedupe: the store lacks {(found < 0).sum():,} of {texts:,} rows")
    return found


def _cut(corpus: Path, folder: Path, texts: int) -> Path:
    """The ids and the texts of a corpus in as many files as workers need to share them."""
    folder.mkdir()
    size = -(-texts // max(LEAST_FILES, len(corpus_files(corpus))))
    table = pa.concat_tables(pq.read_table(path, columns=["id", "text"]) for path in corpus_files(corpus))
    for number, begin in enumerate(range(0, texts, size)):
        part = table.slice(begin, size)
        pq.write_table(part, folder / f"part-{number:05d}.parquet", compression="zstd", row_group_size=8_192)
    return folder


def _within(seconds: float) -> Callable[[list[str], dict[str, str]], Measured]:
    """Measures commands that are ended when they take too long, with all that they have started."""
    bounded = ["timeout", "--kill-after=10", f"{seconds:g}"] if shutil.which("timeout") else []
    return lambda command, environment: _run([*bounded, *command], environment)


def _run(command: list[str], environment: dict[str, str]) -> Measured:
    pinned = ["taskset", "-c", f"0-{CORES - 1}", *command] if shutil.which("taskset") else command
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return measure(pinned, single | environment)


def _reason(ended: SystemExit, seconds: float) -> str:
    lines = [line for line in str(ended.code).splitlines() if line.strip()] or [""]
    if lines[-1].endswith(f"status {TIMED_OUT}"):
        return f"took more than {seconds:g} s"
    return (lines[-2] if len(lines) > 1 and "ended with status" in lines[-1] else lines[-1]).strip()


def _options() -> argparse.Namespace:
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--rows", type=int, help=f"texts for ours ({MANY}; {QUICK_MANY} if quick)")
    parser.add_argument("--peer-rows", type=int, help=f"texts for all ({FEW}; {QUICK_FEW} if quick)")
    parser.add_argument("--peers", help=f"which, with commas between ({','.join(PEERS)}); '' for none")
    parser.add_argument("--peer-seconds", type=float, default=PEER_SECONDS, help="how long a peer may take (3600)")
    options = parser.parse_args()
    options.rows = options.rows or (QUICK_MANY if options.quick else MANY)
    options.peer_rows = min(options.peer_rows or (QUICK_FEW if options.quick else FEW), options.rows)
    options.peers = list(PEERS) if options.peers is None else [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"--peers: {name} is none of {', '.join(PEERS)}")
    if min(options.rows, options.peer_rows) < 2 * SMALL:
        parser.error(f"--rows and --peer-rows: give {2 * SMALL} or more, fewer have too few planted pairs")
    return options


def _show(results: Results, ours: Row, options: argparse.Namespace) -> int:
    full = options.quick or options.rows >= MANY
    report = compared(
        "dedupe",
        "texts/CPU-s",
        ours,
        results.peers,
        results.ours_for,
        limit=Limit("CPU time a thousand texts", 1000 / ours.rate, CPU_SECONDS, "s") if options.rows >= MANY else None,
        floors={peer: floor for peer, floor in FLOORS.items() if full and peer in results.peers},
        rows=results.rows,
        quick=options.quick,
    )
    for texts, quality in results.qualities.items():
        print(f"{texts} texts", *quality.lines(), "", sep="\n")
    status = show(report, False)
    for peer, reason in results.skipped.items():
        print(f"{peer} was left out: {reason}")
    if options.json:
        more = {
            "rows": results.rows,
            "skipped": results.skipped,
            "quality": {texts: quality.to_json() for texts, quality in results.qualities.items()},
        }
        print(orjson.dumps(orjson.loads(report.to_json()) | more).decode())
    return status


if __name__ == "__main__":
    sys.exit(main())
