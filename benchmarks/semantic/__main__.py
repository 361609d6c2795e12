"""Texts of close meaning: `winnow dedupe` on a store that has vectors, against a bare loop of FAISS over them.

    python -m benchmarks.semantic [--quick] [--json] [--rows N]

The texts are made up (`benchmarks.semantic.corpus`): 100,000 of them, then a million, 256 numbers each. Taking them
into the store and measuring them come before and are not counted. The bare loop reads the same vectors from one Parquet
file and does what SemDeDup does, with as many cells as ours: FAISS's spherical k-means on as large a sample, the two
nearest cells of each vector, all products within a cell, and connected components. It keeps all vectors in memory,
verifies nothing and writes the number of each row's cluster. One core each (pinned), CPU time, start-up included;
`--quick` takes 20,000 and 50,000 texts. The table also shows the memory of both.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import (
    GIB,
    Amounts,
    Limit,
    Measured,
    benchmark_arguments,
    compared,
    measure,
    row_of,
    show,
)
from benchmarks.semantic.corpus import cached_corpus
from winnow.filters.duplicates.vectors.cells import cell_count
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location

MANY, FEW = 1_000_000, 100_000
QUICK_MANY, QUICK_FEW = 50_000, 20_000
SAMPLE: Final = 1 << 16
LEAST: Final = 0.95
FLOOR: Final = 0.8
MOST_GIB: Final = 4.0  # of memory, at a million texts

RECIPE = """
version: 1
store: {{path: {store}}}
sources: {{texts: {{root: {root}, files: ["part-*.parquet"], class: web, key: id, columns: {{text: text}}}}}}
annotate: [{{text.embedding: {{languages: [any]}}}}]
dedupe: {{semantic: {{min_similarity: {least}, max_cluster: 1_000_000}}}}
"""

BARE = """
import sys
import faiss, numpy as np, pyarrow.parquet as pq
faiss.omp_set_num_threads(1)
file, cells, sample, least = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
column = pq.read_table(file)["vector"].combine_chunks()
vectors = np.array(column.flatten()).reshape(len(column), -1)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
if cells > 1:
    made = faiss.Kmeans(vectors.shape[1], cells, niter=10, seed=1, spherical=True, min_points_per_centroid=1,
                        max_points_per_centroid=40)
    made.train(vectors[np.random.default_rng(1).permutation(len(vectors))[:sample]])
    _, nearest = made.index.search(vectors, 2)
else:
    nearest = np.zeros((len(vectors), 1), np.int64)
parent = np.arange(len(vectors))
def root(one):
    while parent[one] != one:
        parent[one] = parent[parent[one]]
        one = parent[one]
    return one
rows = np.tile(np.arange(len(vectors)), nearest.shape[1])
of = nearest.T.ravel()
order = np.argsort(of, kind="stable")
bounds = np.flatnonzero(np.diff(of[order], prepend=-1, append=-1))
for begin, end in zip(bounds[:-1], bounds[1:]):
    members = rows[order[begin:end]]
    mine = vectors[members]
    for line in range(0, len(members), 1024):
        found = np.argwhere(mine[line : line + 1024] @ mine.T >= least)
        for one, other in found[found[:, 0] + line < found[:, 1]].tolist():
            a, b = root(members[one + line]), root(members[other])
            parent[max(a, b)] = min(a, b)
clusters = np.array([root(one) for one in range(len(vectors))])
sizes = np.bincount(clusters)
np.save(file + ".npy", clusters)
print(int((sizes[clusters] > 1).sum()))
"""


def main() -> int:
    """Ours and the bare loop, at two sizes."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, help=f"texts of the larger store ({MANY}; {QUICK_MANY} if quick)")
    options = parser.parse_args()
    few = QUICK_FEW if options.quick else FEW
    many = options.rows or (QUICK_MANY if options.quick else MANY)
    python = str(peer_python("text-vectors"))
    Path(".cache").mkdir(exist_ok=True)
    ours: dict[int, Measured] = {}
    theirs: dict[int, Measured] = {}
    for rows in (few, many):
        with tempfile.TemporaryDirectory(dir=".cache", prefix="semantic-") as name:
            store = _measured_store(Path(name).absolute(), rows)
            file = _vectors(store, Path(name).absolute() / "vectors.parquet")
            cells = str(cell_count(rows, min(rows, SAMPLE)))
            theirs[rows] = _run([python, "-c", BARE, str(file), cells, str(SAMPLE), str(LEAST)])
            ours[rows] = _winnow("dedupe", store)
            print(f"{rows:,} texts: {_clustered(store):,} in clusters, {theirs[rows].last_line} by the bare loop")
    amounts = Amounts(many, MANY if options.quick else many, few)
    mine = row_of("winnow dedupe", "texts", amounts, ours[many], ours[few])
    bare = row_of("bare loop", "texts", amounts, theirs[many], theirs[few])
    for rows in (few, many):
        peaks = f"{ours[rows].peak_bytes / GIB:.2f} GiB, bare loop {theirs[rows].peak_bytes / GIB:.2f} GiB"
        print(f"memory at {rows:,} texts: {peaks}")
    limit = Limit(f"memory at {many:,} texts", ours[many].peak_bytes / GIB, MOST_GIB, "GiB")
    report = compared(
        "semantic",
        "texts/CPU-s",
        mine,
        {"bare FAISS": bare},
        limit=limit,
        floors={"bare FAISS": FLOOR},
        rows=[mine, bare],
        quick=options.quick,
    )
    return show(report, options.json)


def _measured_store(folder: Path, rows: int) -> Path:
    """A store whose texts have vectors."""
    recipe = RECIPE.format(store=folder / "store", root=cached_corpus(rows), least=LEAST)
    (folder / "recipe.yaml").write_text(recipe)
    for command in ("ingest", "annotate"):
        _winnow(command, folder / "store")
    return folder / "store"


def _vectors(store: Path, file: Path) -> Path:
    """The vectors of a store in one file."""
    opened = open_store(open_location(str(store)))
    with pq.ParquetWriter(file, pa.schema([pa.field("vector", pa.list_(pa.float32()))])) as writer:
        for row in opened.manifest(opened.require_latest(), "text.embedding"):
            for batch in opened.batches(row, ["vector"]):
                writer.write_table(pa.table({"vector": batch["vector"]}))
    return file


def _clustered(store: Path) -> int:
    """How many rows have duplicates."""
    opened = open_store(open_location(str(store)))
    batches = (
        batch
        for row in opened.manifest(opened.require_latest(), "dedupe.semantic")
        for batch in opened.batches(row, ["status"])
    )
    return sum(batch["status"].to_pylist().count("ok") for batch in batches)


def _winnow(command: str, store: Path) -> Measured:
    recipe = str(store.parent / "recipe.yaml")
    return _run([sys.executable, "-m", "winnow", command, recipe, "--workers", "1"])


def _run(command: list[str]) -> Measured:
    pinned = ["taskset", "-c", "0", *command] if shutil.which("taskset") else command
    return measure(pinned, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
