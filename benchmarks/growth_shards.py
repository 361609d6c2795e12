"""Stores of more and more tiny shards: what each command's bookkeeping costs a shard.

    python -m benchmarks.growth_shards [--quick] [--json] [--callers] [--minutes M] [--sizes N,N…] [--places disk,s3]
        [--commands TEXT,TEXT…]

Stores of 1,000, 4,000 and 16,000 shards of four rows each (`benchmarks.inputs.tiny_shards`), on a disk and behind an
S3 server on loopback. Each command runs once, in a process of its own in which its requests are counted
(`benchmarks.measuring.counted`); what it writes is written to a copy. Workers' requests are those that reached the
server and were not the driver's. Wanted, a shard: at most 3 requests of the driver's for a stage that writes, and at
most 0.1 for a command that reads, or has nothing to do; and 12 ms and 2 ms of its CPU time. `dedupe` is two stages that
write. `audit` reads every file, so its limit is files. `show` reads the ids of up to 1,000 shards in the driver, one
request each: 1,100 in all are allowed. Commands that write come last and in this order: the mixture that is exported is
the one planned before, and `gc --purge` removes what was forgotten before. What `score` costs is
measured by `benchmarks.mimic.growth`.
Memory is the peak without the pages of files that are mapped, such as libraries: how many of these a process has
depends on what the machine has read before. `--quick` has 250 and 1,000 shards, and fewer commands on S3; between
these, memory grows by less than it differs from run to run, so it is shown, but has no limit.

Slopes are between the smallest and the largest store. `--callers` adds where most requests come from. A store whose
commands would end after `--minutes` is left out, by what the one before it took; the two smallest always run.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.inputs.loopback_s3 import BUCKET, LoopbackS3, serving
from benchmarks.inputs.tiny_shards import cached_tiny_shards, last_id, write_recipe
from benchmarks.measuring.counted import Counted
from benchmarks.measuring.reporting import GIB, Limit, benchmark_arguments, judged, measure

SIZES, QUICK_SIZES = (1_000, 4_000, 16_000), (250, 1_000)
FORGOTTEN = "https://day.example/0"  # a row of every eighth shard
LAST_ID = "ID"  # stands for the id of a sample in the last shard
ALWAYS = 2  # sizes that run however long they take: a slope needs two
MINUTES = 120
ON_PAPER = 100_000  # shards, for the arithmetic

WRITING, READING, FILES = 3.0, 0.1, 20.0  # requests of a shard that are allowed
WRITING_CPU, READING_CPU = 12.0, 2.0  # ms of the driver's CPU time for one more shard: 20 and 3 minutes at 100,000
CPU_NOISE = 5.0  # seconds by which the same command differs on a busy machine
ONE_MORE = ", text.length"
DEDUPE = "dedupe: {exact: {}, url: {}}"
HALF = ", budget: {tokens}"  # of the tokens
TOKENS = 1_000  # of the about 2,200 of a shard
FOUR_MORE = "".join([ONE_MORE, *(f", {{text.length: {{as: text.length{number}}}}}" for number in (2, 3, 4))])
MEMORY = 8 << 10  # bytes of the driver's memory for one more shard: 0.8 GiB at 100,000
NOISE = 24 << 20  # the peak of the same command differs by as much: a smaller difference says nothing


@dataclass(frozen=True, slots=True)
class Case:
    """A command, and how many requests of its driver a shard may cost."""

    name: str
    arguments: tuple[str, ...]
    allowed: float
    bounded: int = 0  # requests in all that it may need however many shards there are
    quick_on_s3: bool = False
    more: str = ""  # operators that the recipe has besides those that are measured
    section: str = ""  # of the recipe, besides those that the store was made by
    store: str = "store"
    halved: bool = False  # a mixture of half of the tokens, exported to another folder

    @property
    def cpu(self) -> float:
        """The milliseconds of its driver's CPU time that one more shard may cost."""
        return {READING: READING_CPU, FILES: READING_CPU}.get(self.allowed, WRITING_CPU * self.allowed / WRITING)


CASES = (
    Case("run, nothing to do", ("run",), READING, quick_on_s3=True),
    Case("plan", ("plan",), READING),
    Case("stats", ("stats",), READING),
    Case("report", ("report",), READING),
    Case("show", ("show", LAST_ID), READING, bounded=1_100),  # of more than 1,000 shards tasks read the ids
    Case("mix, nothing to do", ("mix",), READING),
    Case("export, nothing to do", ("export",), READING),
    Case("gc --dry-run", ("gc", "--dry-run"), READING),
    Case("audit --store-only", ("audit", "--store-only"), FILES),
    Case("annotate, one new layer", ("annotate", "--workers", "2"), WRITING, quick_on_s3=True, more=ONE_MORE),
    Case("annotate, three new layers", ("annotate", "--workers", "2"), WRITING, quick_on_s3=True, more=FOUR_MORE),
    Case("ingest, nothing to do", ("ingest",), READING),
    Case("ingest, a new store", ("ingest", "--workers", "2"), WRITING, quick_on_s3=True, store="store-anew"),
    Case("dedupe, two stages", ("dedupe", "--workers", "2"), 2 * WRITING, quick_on_s3=True, section=DEDUPE),
    Case("mix, planned anew", ("mix", "--workers", "2"), WRITING, quick_on_s3=True, halved=True),
    Case("export, of that plan", ("export", "--workers", "2"), WRITING, quick_on_s3=True, halved=True),
    Case("forget, a row in 8 shards", ("forget", "--url", FORGOTTEN), WRITING, quick_on_s3=True),
    Case("gc --keep 1", ("gc", "--keep", "1"), WRITING, quick_on_s3=True),
    Case("gc --purge", ("gc", "--keep", "1", "--purge"), WRITING, quick_on_s3=True),
)


@dataclass(frozen=True, slots=True)
class Run:
    """One command on one store."""

    case: Case
    place: str  # disk or s3
    shards: int
    counted: Counted
    wall_seconds: float
    workers_cpu_seconds: float
    workers_asked: int | None  # requests of all other processes; not known on a disk


@dataclass(frozen=True, slots=True)
class Slope:
    """What one more shard costs a command, between the smallest and the largest store."""

    case: Case
    place: str
    shards: int  # by which the largest store has more
    asked: int  # for the largest store
    requests: float
    cpu_seconds: float
    bytes: float

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What it must keep."""
        name = f"{self.case.name}, {self.place}"
        requests = Limit(f"{name}: the driver's requests", self.requests, self.case.allowed, "a shard")
        if self.asked <= self.case.bounded:
            requests = Limit(f"{name}: the driver's requests", self.asked, self.case.bounded, "in all")
        cpu = Limit(f"{name}: the driver's CPU time", 1e3 * self.cpu_seconds, self.case.cpu, "ms a shard")
        memory = Limit(f"{name}: the driver's memory", self.bytes, MEMORY, "bytes a shard")
        told = {cpu: self.shards * self.case.cpu >= 1e3 * CPU_NOISE, memory: self.shards * MEMORY >= NOISE}
        return (requests, *(limit for limit, says in told.items() if says))


def growth(
    sizes: Sequence[int], on_disk: Sequence[Case], on_s3: Sequence[Case], seconds: float = float("inf")
) -> Iterator[Run]:
    """Runs the cases of each place, on stores of these sizes, as far as they end within some time."""
    ends = time.monotonic() + seconds
    began, before = time.monotonic(), 0
    places = [(place, cases) for place, cases in (("disk", on_disk), ("s3", on_s3)) if cases]
    for number, shards in enumerate(sizes):
        took = time.monotonic() - began
        if number >= ALWAYS and (more := took * shards / before) > ends - time.monotonic():
            print(f"{shards:,} shards are left out: they would take about {more / 60:.0f} minutes; see --minutes")
            return
        began, before = time.monotonic(), shards
        for place, chosen in places:
            with _store(shards, place) as store:
                for case in chosen:
                    yield store.run(case)


def slopes_of(runs: Sequence[Run]) -> list[Slope]:
    """One for each case and place."""
    by_case: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        by_case.setdefault((run.place, run.case.name), []).append(run)
    return [_slope(found[0], found[-1]) for _, found in sorted(by_case.items(), key=lambda one: one[0][0])]


def _slope(least: Run, most: Run) -> Slope:
    grown = most.shards - least.shards
    first, last = least.counted, most.counted
    return Slope(
        most.case,
        most.place,
        grown,
        last.asked,
        (last.asked - first.asked) / grown,
        (last.cpu_seconds - first.cpu_seconds) / grown,
        (last.peak_bytes - first.peak_bytes) / grown,
    )


@dataclass(frozen=True)
class _Copied:
    """A copy of a store that commands may write to."""

    folder: Path
    shards: int
    server: LoopbackS3 | None

    def run(self, case: Case) -> Run:
        store = f"s3://{BUCKET}/{case.store}" if self.server else str(self.folder / case.store)
        out = self.folder / ("out-halved" if case.halved else "out")
        mixture = HALF.format(tokens=TOKENS * self.shards) if case.halved else ""
        recipe = write_recipe(self.folder, store, out, self.folder / "crawl", case.more, case.section, mixture)
        place, written = "s3" if self.server else "disk", self.folder / "counted.json"
        verb, *options = case.arguments
        options = [last_id(self.shards) if one == LAST_ID else one for one in options]
        command = [
            sys.executable,
            "-m",
            "benchmarks.measuring.counted",
            place,
            str(written),
            verb,
            str(recipe),
            *options,
        ]
        before = self.server.requests() if self.server else 0
        took = measure(command, self.server.environment if self.server else None)
        counted = Counted(**orjson.loads(written.read_bytes()))
        others = self.server.requests() - before - counted.asked if self.server else None
        below = max(took.cpu_seconds - counted.cpu_seconds, 0.0)
        return Run(case, place, self.shards, counted, took.wall_seconds, below, others)


@contextmanager
def _store(shards: int, place: str) -> Iterator[_Copied]:
    made = cached_tiny_shards(shards)
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        folder = Path(scratch) / "copy"
        subprocess.run(["cp", "-al", str(made), str(folder)], check=True)  # objects are replaced, never changed
        with serving(folder) if place == "s3" else nullcontext() as server:
            yield _Copied(folder, shards, server)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Measure and print."""
    options = _arguments().parse_args()
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    cases = [case for case in CASES if any(text in case.name for text in options.commands)]
    on_disk = cases if "disk" in options.places else []
    on_s3 = [case for case in cases if case.quick_on_s3 or not options.quick] if "s3" in options.places else []
    print(
        f"{'command':<26}{'on':<6}{'shards':>8}{'requests':>10}{'a shard':>9}{'workers':>9}{'CPU s':>8}"
        f"{'workers':>9}{'wall s':>8}{'peak GiB':>10}"
    )
    runs = []
    for run in growth(sizes, on_disk, on_s3, 60 * options.minutes):
        runs.append(run)
        _print(run)
        if options.callers:
            for caller, times in list(run.counted.callers.items())[:8]:
                print(f"    {times / run.shards:>8.2f} a shard  {caller}")
    slopes = slopes_of(runs)
    print(
        f"\n{'one more shard':<26}{'on':<6}{'requests':>10}{'CPU ms':>9}{'memory kB':>11}"
        f"   {ON_PAPER:,} shards: requests, CPU s, GiB"
    )
    for slope in slopes:
        print(
            f"{slope.case.name:<26}{slope.place:<6}{slope.requests:>10.3f}{1e3 * slope.cpu_seconds:>9.2f}"
            f"{slope.bytes / 1e3:>11.1f}   {ON_PAPER * slope.requests:>14,.0f}{ON_PAPER * slope.cpu_seconds:>10,.0f}"
            f"{ON_PAPER * slope.bytes / GIB:>8.2f}"
        )
    return judged("growth_shards", [limit for slope in slopes for limit in slope.limits], options.json)


def _print(run: Run) -> None:
    counted = run.counted
    others = "" if run.workers_asked is None else f"{run.workers_asked:,}"
    print(
        f"{run.case.name:<26}{run.place:<6}{run.shards:>8,}{counted.asked:>10,}{counted.asked / run.shards:>9.2f}"
        f"{others:>9}{counted.cpu_seconds:>8.1f}{run.workers_cpu_seconds:>9.1f}{run.wall_seconds:>8.1f}"
        f"{counted.peak_bytes / GIB:>10.2f}",
        flush=True,
    )


def _arguments() -> argparse.ArgumentParser:
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--callers", action="store_true", help="say where most of each command's requests come from")
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        metavar="M",
        help="leave out stores that take longer (default: %(default)s)",
    )
    parser.add_argument("--sizes", type=_sizes, metavar="N,N…", help="so many shards, in ascending order")
    parser.add_argument("--places", type=_texts, default=["disk", "s3"], metavar="disk,s3", help="only there")
    parser.add_argument("--commands", type=_texts, default=[""], metavar="TEXT,TEXT…", help="only those so named")
    return parser


def _texts(written: str) -> list[str]:
    return written.split(",")


def _sizes(written: str) -> list[int]:
    return sorted(map(int, _texts(written)))


if __name__ == "__main__":
    sys.exit(main())
