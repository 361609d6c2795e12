"""What `winnow score` takes in the process it is started in, by rows and by shards.

    python -m benchmarks.mimic.growth [--quick] [--json]

The traces are there: winnow has made those of one shard by the task `next_byte` at three checkpoints, and stores have
copies of it (`benchmarks.inputs.multiplied`). What is measured decides on them (cuts, ranks, votes, estimates),
writes the layer with two workers, and publishes. Full shards of 65,536 rows: 1, 4 and 16 million rows. Shards of four
rows: 1,000 and 4,000. Memory is the peak without the pages of mapped files. Wanted: by these slopes, at most 1 GiB at a
billion rows in full shards; at most 8 KiB a shard; and at most 3 requests a shard for each of the two layers that a
command meets for the first time, the traces and the result. `--quick` has 0.5 and 1 million rows, 250 and 1,000 shards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.inputs.multiplied import multiply, writers_stamp
from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.counted import Counted
from benchmarks.measuring.reporting import GIB, Limit, benchmark_arguments, judged, measure
from benchmarks.mimic.stage import SCORE, write_weights

FULL, TINY = 1 << 16, 4  # rows of a shard
SHARDS = {FULL: (16, 64, 256), TINY: (1_000, 4_000)}
QUICK_SHARDS = {FULL: (8, 16), TINY: (250, 1_000)}
ON_PAPER = 1_000_000_000  # rows
SHARD_BYTES = 8 << 10
SHARD_REQUESTS = 6.0  # of the driver, for two layers that no generation has yet

RECIPE = """
version: 1
store: {{path: {store}, task_bytes: {task_bytes}}}
sources:
  lines: {{root: {root}, files: ["*.jsonl"], class: web, key: id}}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One decision."""

    rows: int
    shards: int
    counted: Counted
    wall_seconds: float
    workers_cpu_seconds: float


def decided(rows: int, shards: int) -> Run:
    """Decide on a store of so many shards of so many rows."""
    made = _cached(rows, shards)
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        folder = Path(scratch) / "copy"
        subprocess.run(["cp", "-al", str(made), str(folder)], check=True)  # objects are replaced, never changed
        (folder / "recipe.yaml").unlink()
        recipe, written = _recipe(folder, _seed(rows)), folder / "counted.json"
        counting = [sys.executable, "-m", "benchmarks.measuring.counted", "disk", str(written)]
        took = measure([*counting, "score", str(recipe), "--workers", "2"])
        counted = Counted(**orjson.loads(written.read_bytes()))
    below = max(took.cpu_seconds - counted.cpu_seconds, 0.0)
    return Run(rows * shards, shards, counted, took.wall_seconds, below)


def _cached(rows: int, shards: int) -> Path:
    """A folder with a store of copies of the seed, published."""
    seed, folder = _seed(rows), (CACHE / f"traces-{rows}-{shards}").absolute()
    stamp, wanted = folder / "made-for", (seed / "made-for").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "lines").mkdir(parents=True)
        for number in range(shards):
            os.link(seed / "lines" / "000000.jsonl", folder / "lines" / f"{number:06d}.jsonl")
        recipe = _recipe(folder, seed)
        multiply(seed / "store", folder / "store", recipe)
        measure([sys.executable, "-m", "winnow", "ingest", str(recipe)])
        stamp.write_text(wanted)
    return folder


def _seed(rows: int) -> Path:
    """A folder with a store of one shard, scored by winnow."""
    folder = (CACHE / f"traces-{rows}").absolute()
    stamp, wanted = folder / "made-for", writers_stamp(Path(__file__))
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "lines").mkdir(parents=True)
        boats = " boats" * (4 if rows == FULL else 60)  # a file has at least the 1,024 bytes of the smallest task
        texts = (f"{row * 2654435761 % 2**32:x}{boats}" for row in range(rows))
        lines = [orjson.dumps({"id": f"{row:06d}", "text": text}) for row, text in enumerate(texts)]
        (folder / "lines" / "000000.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        write_weights(folder)
        recipe = _recipe(folder, folder)
        measure([sys.executable, "-m", "winnow", "ingest", str(recipe)])
        measure([sys.executable, "-m", "winnow", "score", str(recipe)])
        stamp.write_text(wanted)
    return folder


def _recipe(folder: Path, seed: Path) -> Path:
    recipe = folder / "recipe.yaml"
    task_bytes = (seed / "lines" / "000000.jsonl").stat().st_size
    text = RECIPE.format(store=folder / "store", root=folder / "lines", task_bytes=task_bytes)
    recipe.write_text(text + SCORE.format(weights=seed))
    return recipe


def limits_of(runs: list[Run]) -> list[Limit]:
    """What must be kept, by the slopes between the smallest and the largest store of each kind."""
    full, tiny = ([run for run in runs if (run.rows == TINY * run.shards) == small] for small in (False, True))
    of_rows = _memory(full) / (full[-1].rows - full[0].rows)
    of_shards = _memory(tiny) / (tiny[-1].shards - tiny[0].shards)
    requests = (tiny[-1].counted.asked - tiny[0].counted.asked) / (tiny[-1].shards - tiny[0].shards)
    at_a_billion = full[-1].counted.peak_bytes + max(of_rows, 0.0) * (ON_PAPER - full[-1].rows)
    print(f"one more row in full shards: {of_rows:.2f} bytes; one more shard of {TINY} rows: {of_shards:,.0f} bytes")
    return [
        Limit(f"memory at {ON_PAPER:,} rows", at_a_billion / GIB, 1.0, "GiB"),
        Limit("memory by tiny shards", of_shards, SHARD_BYTES, "bytes a shard"),
        Limit("requests by tiny shards", requests, SHARD_REQUESTS, "a shard"),
    ]


def _memory(runs: list[Run]) -> int:
    return runs[-1].counted.peak_bytes - runs[0].counted.peak_bytes


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    print(f"{'rows':>12}{'shards':>8}{'requests':>10}{'CPU s':>8}{'workers':>9}{'wall s':>8}{'peak MiB':>10}")
    runs = []
    for rows, sizes in (QUICK_SHARDS if options.quick else SHARDS).items():
        for shards in sizes:
            run = decided(rows, shards)
            runs.append(run)
            print(
                f"{run.rows:>12,}{shards:>8,}{run.counted.asked:>10,}{run.counted.cpu_seconds:>8.1f}"
                f"{run.workers_cpu_seconds:>9.1f}{run.wall_seconds:>8.1f}{run.counted.peak_bytes / (1 << 20):>10.0f}",
                flush=True,
            )
    return judged("mimic_growth", limits_of(runs), options.json)


if __name__ == "__main__":
    sys.exit(main())
