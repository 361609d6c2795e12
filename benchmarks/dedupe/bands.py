"""The search for near duplicates in simulated signatures: 20 million rows on one machine in 6 GiB, and time by rows.

    python -m benchmarks.dedupe.bands [--quick] [--json] [--rows N]

Signatures of 112 hashes are drawn from a row's number; a tenth of the rows are copies of others, all over the store,
that share 80 to 95 % of their hashes. They are written as the layers of a store, in shards of 65,536 rows, and searched
as `winnow dedupe` does by two workers: digests, 14 bands of 8, candidates, signatures, clusters, and what is said of
each row. Writing the store is not counted. Under a threshold of 0.45 signatures decide every pair: no text is read.
Memory is that of all processes together; what was found is compared with what was planted. `--quick` is the smallest
size alone, so it says nothing of growth.
"""

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from rich.console import Console

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.reporting import GIB, Limit, Measured, Report, Row, benchmark_arguments, measure, show
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.filters.text.minhash import MinhashConfig, schema
from winnow.pipelines.dedupe.nodes import rows_of_places
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.row_arrays import ids_column
from winnow.pipelines.running.scratch_parts import read_parts
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import create_or_open, open_store
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.tables import put_table
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deduplication import compare
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.records import StoreRecord
from winnow.schemas.uint128 import values_of

SHARD_ROWS = 65_536
HASHES, BANDS, BAND_ROWS = 112, 14, 8
THRESHOLD = 0.45
LEAST_ALIKE, MOST_ALIKE = 0.8, 0.95
COPY_EVERY = 10  # rows whose number ends on nine are copies
LEAST_FOUND = 0.93  # of the copies: what the curve of 14 bands of 8 says from 0.8 to 0.95, and a little less
LAYER = "text.minhash"
SIZES = (1_000_000, 5_000_000, 20_000_000)
GIB_ALLOWED = 6.0
LINEAR = 0.9  # rows a CPU-second of the largest, of those of the smallest

Words = npt.NDArray[np.uint64]


def drawn(numbers: Words, stream: int) -> Words:
    """A random word for each number: the finaliser of splitmix64."""
    word = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(stream << 59)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def originals(rows: Words, total: int) -> Words:
    """What each row is a copy of: itself where it is none."""
    every, others = np.uint64(COPY_EVERY), np.uint64(COPY_EVERY - 1)
    picked = drawn(rows, 1) % np.uint64(total // COPY_EVERY * (COPY_EVERY - 1))
    return np.where(rows % every == others, picked // others * every + picked % others, rows)


def signatures(rows: Words, total: int) -> npt.NDArray[np.uint32]:
    """The signature of each row."""
    at = np.arange(HASHES, dtype=np.uint64)
    own = drawn(rows[:, None] * np.uint64(HASHES) + at, 2)
    sources = originals(rows, total)
    copies = np.flatnonzero(sources != rows)
    theirs = drawn(sources[copies, None] * np.uint64(HASHES) + at, 2)
    alike = LEAST_ALIKE + (MOST_ALIKE - LEAST_ALIKE) * _share(drawn(rows[copies], 3))
    shared = _share(drawn(rows[copies, None] * np.uint64(HASHES) + at, 4)) < alike[:, None]
    own[copies] = np.where(shared, theirs, own[copies])
    return (own >> np.uint64(32)).astype(np.uint32)


def write_shard(folder: str, shard: int, total: int) -> CoveredShard:
    """A shard's samples, of nothing but ids and texts, and its signatures."""
    store = open_store(open_location(folder))
    rows = np.arange(shard * SHARD_ROWS, min((shard + 1) * SHARD_ROWS, total), dtype=np.uint64)
    samples = pa.table({"id": values_of(drawn(rows, 5), rows), "text": pa.array(rows.astype(str))})
    raw = pa.py_buffer(np.ascontiguousarray(signatures(rows, total), "<u4"))
    columns = {
        "status": pa.array(["ok"] * len(rows)),
        "signature": pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * HASHES), len(rows), [None, raw]),
        "digest": values_of(drawn(rows, 6), drawn(rows, 7)),
        "shingles": pa.array(np.full(len(rows), 500)),
    }
    layer = pa.table(columns, schema=schema(MinhashConfig(hashes=HASHES)))
    name = f"bands-{shard:06d}"
    stored = put_table(store.objects, samples, lambda content: layout.samples_object(name, content))
    signed = put_table(store.objects, layer, lambda content: layout.layer_object(LAYER, "simulated", name, content))
    return CoveredShard(name, "simulated", len(rows), {layout.SAMPLES: stored.path, LAYER: signed.path})


def write_store(folder: Path, total: int) -> None:
    """The store, by two processes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    record = StoreRecord("bands", 7, SHARD_ROWS, 1 << 30, 16_384, 64 << 20, 1 << 30)
    store = create_or_open(open_location(str(folder)), record)
    count = -(-total // SHARD_ROWS)
    with ProcessPoolExecutor(2) as pool:
        shards = list(pool.map(write_shard, [str(folder)] * count, range(count), [total] * count))
    (folder / "search").write_text(put_shards(store.objects, shards))


def run_search(folder: Path) -> None:
    """Search the store, and print what it took of disk and what it found."""
    store = open_store(open_location(str(folder)))
    settings = near_settings(NearConfig(bands=BANDS, rows=BAND_ROWS, min_similarity=THRESHOLD))
    search = Search(
        store,
        (folder / "search").read_text(),
        f"{layout.SCRATCH}bands",
        {"near": AskedKind(find_kind("near"), settings)},
        (Column(layout.SAMPLES, "text"),),
    )
    total = sum(shard.rows for shard in search.covered)
    run = StageRun(Console(stderr=True), Engine("local", 2), store)
    run.warm()
    compare(run, search, total)
    right, wrong = counted(search, total)
    sizes: Counter[str] = Counter()
    for info in store.objects.list(f"{search.scratch}/exchange/"):
        sizes[info.path.removeprefix(f"{search.scratch}/exchange/").partition("/")[0]] += info.size
    print(orjson.dumps({"bytes": sizes.total(), "steps": sizes, "right": right, "wrong": wrong}).decode())


def counted(search: Search, total: int) -> tuple[int, int]:
    """How many copies are in the cluster of what they are copies of, and how many rows are in another's."""
    right = wrong = 0
    outcomes: Iterator[pa.RecordBatch] = read_parts(
        search.store.objects, search.scratch, "near/outcomes", len(search.covered)
    )
    for shard, found in enumerate(outcomes):
        rows = rows_of_places(found["place"].to_numpy()).astype(np.uint64) + np.uint64(shard * SHARD_ROWS)
        sources = originals(rows, total)
        same = sources == originals(ids_column([found], "cluster")[1], total)
        right += int(np.count_nonzero(same & (sources != rows)))
        wrong += int(np.count_nonzero(~same))
    return right, wrong


def measured(total: int) -> Measured:
    """One size, in processes of its own."""
    folder = CACHE / "bands"
    try:
        write_store(folder, total)
        took = measure([sys.executable, "-m", "benchmarks.dedupe.bands", "--case", str(folder)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = orjson.loads(took.last_line)
    copies = total // COPY_EVERY
    by_step = ", ".join(f"{name} {size / 1e6:,.0f}" for name, size in found["steps"].items())
    print(f"{total:,} rows: {found['bytes'] / 1e6:,.0f} MB of exchange ({by_step})")
    print(f"{found['right']:,} of {copies:,} copies found, {found['wrong']:,} rows in a wrong cluster")
    if found["wrong"] or found["right"] < LEAST_FOUND * copies:
        raise SystemExit(f"bands: expected at least {LEAST_FOUND:.0%} of the copies and no row in a wrong cluster")
    return took


def main() -> int:
    """All sizes, the memory of the largest, and how time grows."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, help="this many rows alone")
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        run_search(arguments.case)
        return 0
    sizes = (arguments.rows,) if arguments.rows else SIZES[:1] if arguments.quick else SIZES
    rows = []
    for size in sizes:
        took = measured(size)
        rows.append(Row("bands", f"{size:,} rows", took, size / took.cpu_seconds))
    first, last = rows[0], rows[-1]
    promised = not arguments.quick and not arguments.rows
    report = Report(
        name="bands",
        unit="rows/CPU-s",
        ours=last.rate,
        peers={first.size: first.rate} if len(rows) > 1 else {},
        floors={first.size: LINEAR} if promised else {},
        limit=Limit("peak memory of all processes", last.measured.peak_bytes / GIB, GIB_ALLOWED, "GiB"),
        rows=rows,
    )
    return show(report, arguments.json)


def _share(words: Words) -> npt.NDArray[np.float64]:
    """As numbers from 0 to 1."""
    return (words >> np.uint64(11)).astype(np.float64) / (1 << 53)


if __name__ == "__main__":
    sys.exit(main())
