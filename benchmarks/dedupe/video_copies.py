"""The search for copies of videos in simulated hashes: a hundred thousand clips of ten seconds on two cores.

    python -m benchmarks.dedupe.video_copies [--quick] [--json] [--rows N]

A clip has forty hashes, four a second, which all differ; of real ones frames like an earlier one do not count. One clip
in a hundred is a copy of another, of which each hash differs in up to 24 bits. They are written as the layers of a
store and searched as `winnow dedupe` does by two workers: digests, the Hamming join of all frames, shares both ways,
clusters. Writing the store is not counted, start-up is. The time allowed is five minutes on two cores, which here is
ten minutes of CPU. The peer compares each frame with each (numba, popcount; the same kernel on a part of the frames,
extrapolated by the square).
"""

import argparse
import shutil
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.reporting import Limit, Report, Row, benchmark_arguments, measure, show
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.vpdq import VpdqConfig
from winnow.filters.duplicates.perceptual.frames import FrameLists, match_shares
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
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
FRAMES = 40
COPY_EVERY = 100
MOST_BITS = 24
CLIPS, QUICK_CLIPS = 100_000, 10_000
COMPARED = 1_000  # clips that are compared each with each
CPU_SECONDS_ALLOWED = 600.0
LAYER = "video.vpdq"


def hashes(clips: int) -> NDArray[np.uint64]:
    """The hashes of all clips: those whose number ends on 99 are copies of the one before."""
    random = np.random.default_rng(7)
    found = random.integers(0, 1 << 64, (clips, FRAMES, 4), dtype=np.uint64)
    for copy in range(COPY_EVERY - 1, clips, COPY_EVERY):
        found[copy] = found[copy - 1]
        for frame in range(FRAMES):
            for bit in random.choice(256, random.integers(0, MOST_BITS + 1), replace=False).tolist():
                found[copy, frame, bit >> 6] ^= np.uint64(1) << np.uint64(bit & 63)
    return found


def write_store(folder: Path, clips: int) -> None:
    """The store: of samples ids alone, and the hashes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    record = StoreRecord("copies", 7, SHARD_ROWS, 1 << 30, 16_384, 64 << 20, 1 << 30)
    store = create_or_open(open_location(str(folder)), record)
    made, shards = hashes(clips), []
    for number, first in enumerate(range(0, clips, SHARD_ROWS)):
        part = made[first : first + SHARD_ROWS]
        count = len(part)
        ids = np.arange(first, first + count, dtype=np.uint64)
        samples = pa.table({"id": values_of(ids * np.uint64(0x9E3779B97F4A7C15), ids << np.uint64(8))})
        raw = pa.py_buffer(np.ascontiguousarray(part, "<u8"))
        frames = pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), count * FRAMES, [None, raw])
        columns = {
            "status": pa.array(["ok"] * count),
            "items": _lists(pa.array(["ok"] * count), 1),
            "hash": _lists(_lists(frames, FRAMES), 1),
            "quality": _lists(_lists(pa.array(np.full(count * FRAMES, 90, np.int16)), FRAMES), 1),
        }
        name = f"clips-{number:06d}"
        stored = put_table(store.objects, samples, partial(layout.samples_object, name))
        hashed = put_table(store.objects, pa.table(columns), partial(layout.layer_object, LAYER, "made", name))
        shards.append(CoveredShard(name, "made", count, {layout.SAMPLES: stored.path, LAYER: hashed.path}))
    (folder / "search").write_text(put_shards(store.objects, shards))


def run_search(folder: Path) -> None:
    """Search the store, and print what it took of disk and what it found."""
    store = open_store(open_location(str(folder)))
    scratch = f"{layout.SCRATCH}copies"
    asked = AskedKind(find_kind("vpdq"), VpdqConfig())
    search = Search(store, (folder / "search").read_text(), scratch, {"vpdq": asked})
    clips = sum(shard.rows for shard in search.covered)
    run = StageRun(Console(stderr=True), Engine("local", 2), store)
    run.warm()
    compare(run, search, clips, {"vpdq": clips * FRAMES})
    outcomes = read_parts(store.objects, search.scratch, "vpdq/outcomes", len(search.covered))
    sizes = [size for found in outcomes for size in found["size"].to_pylist()]
    moved = sum(info.size for info in store.objects.list(f"{search.scratch}/exchange/"))
    print(orjson.dumps({"bytes": moved, "found": len(sizes), "largest": max(sizes)}).decode())


def main() -> int:
    """The search, and what comparing all with all would take."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, help="this many clips")
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        run_search(arguments.case)
        return 0
    clips = arguments.rows or (QUICK_CLIPS if arguments.quick else CLIPS)
    folder = CACHE / "video_copies"
    try:
        write_store(folder, clips)
        took = measure([sys.executable, "-m", "benchmarks.dedupe.video_copies", "--case", str(folder)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = orjson.loads(took.last_line)
    print(f"{clips:,} clips: {found['bytes'] / 1e6:,.0f} MB of exchange, {found['found']:,} clips with copies")
    if found["found"] != 2 * (clips // COPY_EVERY) or found["largest"] != 2:
        raise SystemExit("video_copies: expected each copy with its original, and no other pair")
    report = Report(
        name="video_copies",
        unit="clips/CPU-s",
        ours=clips / took.cpu_seconds,
        peers={"all with all": clips / compared_seconds(clips)},
        limit=Limit("CPU time", took.cpu_seconds, CPU_SECONDS_ALLOWED, "s"),
        rows=[Row("vpdq", f"{clips:,} clips", took, clips / took.cpu_seconds)],
    )
    return show(report, arguments.json)


def compared_seconds(clips: int) -> float:
    """The CPU time in which so many clips would be compared each with each."""
    some = hashes(COMPARED)
    lists = FrameLists(np.arange(0, COMPARED * FRAMES + 1, FRAMES), some.reshape(-1, 4))
    pairs = np.triu_indices(COMPARED, 1)
    match_shares(lists, lists, (pairs[0][:1], pairs[1][:1]), 31)  # compiles
    began = time.process_time()
    match_shares(lists, lists, pairs, 31)
    return (time.process_time() - began) * (clips / COMPARED) ** 2


def _lists(values: pa.Array, size: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(values) + 1, size, dtype=np.int32)), values)


if __name__ == "__main__":
    sys.exit(main())
