"""Choose representatives and plan a mixture of more and more candidates: rows a second, and memory of the driver.

    python -m benchmarks.choosing [--quick] [--json]

Made-up candidates of 100,000, a million and ten million rows (`--quick`: the first two) in shards of 65,536: a tenth of
all is one near cluster, the others are in clusters of four; 32 languages, two stages, bands, a validation split. Each
size is chosen among and planned twice: in one process, as below 50 million candidates, and in tasks, as above. A task
is a fork of the driver, so that the driver's memory is its own: the peak above what it had when it began. Both ways
must give the same. Wanted: in tasks at most 256 MiB above the start at every size.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.measuring.reporting import GIB, REPOSITORY, Limit, benchmark_arguments, judged
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.preferences import BoundPreference, Choice
from winnow.pipelines.mix.candidates import Cell
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.passes import MOST_PLACES, Passes, PassesHere, PassesInTasks
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.splitting import split
from winnow.pipelines.mix.stage_plans import plan_stages
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.representatives.candidates import ROW_BITS, Candidates, candidate_columns
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.pipelines.rules.representatives.rounds import Rounds
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import LocalJobs
from winnow.pipelines.running.linear_jobs import Job
from winnow.pipelines.running.scratch_parts import put_part, read_numbers, read_part
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.identity import digest
from winnow.schemas.mixture import Amount
from winnow.schemas.problems import Place
from winnow.schemas.recipe import DedupeConfig, recipe_from_text
from winnow.schemas.recipe.nodes import located
from winnow.scoring.mixture.cuts import ordered_key

SIZES, QUICK_SIZES = (100_000, 1_000_000, 10_000_000), (100_000, 1_000_000)
SHARD_ROWS = 65_536
LANGUAGES = 32
MEMORY_ALLOWED = 256 << 20  # of the driver, above its start, where tasks work
RECIPE = """
version: 1
store: {path: store}
sources: {crawl: {root: crawl, files: ["*"], class: web}}
annotate: [text.language]
mix:
  unit: tokens
  tokenizer: bytes
  languages: {temperature: 3.3}
  split: {validation: 0.001, min_samples: 100}
  max_epochs: 4
  stages:
    core: {budget: %d, bands: {by: text.language.score, top: 0.5}}
    late: {budget: %d, bands: {by: text.language.score, softmax: 1}}
"""
_PLACE = Place("recipe.yaml", 1)


@dataclass(frozen=True, slots=True)
class Run:
    """What one way of doing a thing took."""

    work: str
    tasks: bool
    rows: int
    seconds: float
    driver_bytes: int  # above the start
    result: str  # a hash


class Forks(LocalJobs):
    """Runs each job in a fork of the driver."""

    def run(self, job: Job, size: int) -> None:  # noqa: ARG002 - the protocol's
        """Run a job."""
        in_fork(job.run_in_process)


def in_fork(work: Callable[[], object]) -> None:
    """Call something in a fork of this process."""
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError("a task failed")


def main() -> int:
    """Measure and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--one", nargs=3, metavar=("WORK", "HOW", "ROWS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(orjson.dumps(asdict(_measured(options.one[0], options.one[1] == "tasks", int(options.one[2])))).decode())
        return 0
    runs: list[Run] = []
    print(f"{'work':<10}{'where':<14}{'rows':>12}{'wall s':>9}{'rows/s':>13}{'driver GiB':>12}")
    for rows in QUICK_SIZES if options.quick else SIZES:
        for work in WORKS:
            for how in ("here", "tasks"):
                command = [sys.executable, "-m", "benchmarks.choosing", "--one", work, how, str(rows)]
                said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY).stdout
                run = Run(**orjson.loads(said.splitlines()[-1]))
                runs.append(run)
                print(
                    f"{work:<10}{'tasks' if run.tasks else 'one process':<14}{rows:>12,}{run.seconds:>9.1f}"
                    f"{rows / run.seconds:>13,.0f}{run.driver_bytes / GIB:>12.3f}",
                    flush=True,
                )
            if runs[-1].result != runs[-2].result:
                raise RuntimeError(f"{work} of {rows:,} rows: tasks gave something else than one process")
    limits = []
    for work in WORKS:
        most = max(run.driver_bytes for run in runs if run.tasks and run.work == work)
        limits.append(Limit(f"{work}: the driver's memory", most / 2**20, MEMORY_ALLOWED / 2**20, "MiB"))
    return judged("choosing", limits, options.json)


def _measured(work: str, tasks: bool, rows: int) -> Run:
    with temporary_folder("choosing") as folder:
        steps = JobSteps(LocalStore(Path(folder), durable=False), "candidates")
        shards = -(-rows // SHARD_ROWS)
        in_fork(lambda: _MAKERS[work](steps, shards, rows))
        before, began = _peak(), time.perf_counter()
        result = WORKS[work](steps, shards, rows, tasks)
        return Run(work, tasks, rows, time.perf_counter() - began, _peak() - before, result)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


CHOICE = Choice(
    ("exact", "near"),
    (BoundPreference("longest", Column("samples", "length")),),
    ("crawl",),
    DedupeConfig(_PLACE, located({"exact": {}, "near": {}}, _PLACE)),
    {},
)


def _rows_of(shard: int, rows: int) -> NDArray[np.uint64]:
    return np.arange(shard * SHARD_ROWS, min(rows, (shard + 1) * SHARD_ROWS), dtype=np.uint64)


def _make_clustered(steps: JobSteps, shards: int, rows: int) -> None:
    for shard in range(shards):
        number, chance = _rows_of(shard, rows), np.random.default_rng(shard)
        count = len(number)
        others = number * np.uint64(7919) % np.uint64(max(1, rows // 4))
        near = np.where(number % 10 == 0, np.uint64(1 << 60), others)
        exact = number >> np.uint64(shard % 2)  # pairs in every other shard
        lengths, ids = chance.integers(0, 1000, count).astype(np.uint64), chance.integers(0, 1 << 62, (2, count))
        place = (np.uint64(shard) << np.uint64(ROW_BITS)) + np.arange(count, dtype=np.uint64)
        clusters = (words for low in (exact, near) for words in (low * np.uint64(0x9E3779B97F4A7C15), low))
        columns = [place, lengths, *ids.astype(np.uint64), *clusters]
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=candidate_columns(CHOICE))
        put_part(steps.objects, steps.scratch, "candidates", shard, batch)


def _choose(steps: JobSteps, shards: int, rows: int, tasks: bool) -> str:
    parts: list[list[int]] = []
    if tasks:
        rounds = Rounds(CHOICE, shards, rows, steps, "candidates", "replaced")
        Forks().run(rounds.job(), 0)
        for group in range(shards):
            found = read_numbers(steps.objects, steps.scratch, "replaced", group)
            parts.append([_sum(found[name]) for kind in CHOICE.kinds for name in (kind, f"{kind}.low")])
    else:
        with RepresentativeChooser(CHOICE) as chooser:
            for shard in range(shards):
                batch = read_part(steps.objects, steps.scratch, "candidates", shard)
                chooser.add(Candidates(pa.Table.from_batches([batch])))
            chosen = chooser.chosen([str(shard) for shard in range(shards)])
        parts.append([_sum(one) for kind in CHOICE.kinds for one in (chosen.lost[kind], chosen.replacements[kind][1])])
    return digest(*(sum(column) % (1 << 64) for column in zip(*parts, strict=True))).hex()


def _sum(values: NDArray[np.uint64]) -> int:
    """A hash of values that does not depend on their order."""
    words = values * np.uint64(0x9E3779B97F4A7C15)
    return int((words ^ (words >> np.uint64(31))).sum(dtype=np.uint64))


def _make_candidates(steps: JobSteps, shards: int, rows: int) -> None:
    columns = Scratch(steps.objects, f"{steps.scratch}/columns")
    for shard in range(shards):
        number, chance = _rows_of(shard, rows), np.random.default_rng(shard)
        count = len(number)
        split = chance.integers(0, 1 << 63, count).astype(np.uint64)
        values: dict[str, NDArray[np.generic]] = {
            "row": np.arange(count, dtype=np.uint32),
            "high": chance.integers(0, 1 << 62, count).astype(np.uint64),
            "low": number,
            "cell": ((chance.zipf(1.3, count) - 1) % LANGUAGES).astype(np.uint32),
            "units": chance.lognormal(7, 1, count).astype(np.int64) + 1,
            "bytes": chance.integers(0, 9000, count),
            "draw": chance.integers(0, 1 << 63, count).astype(np.uint64),
            "split": np.where(number % 10 == 0, np.uint64(1 << 50), split),
            "shared": number % 10 == 0,
            "stages": np.full(count, 3, np.uint32),
            "band0": ordered_key(chance.beta(5, 1, count)),
        }
        columns.put(shard, values)
    listed = (ListedShard(f"crawl-{shard:05d}", "crawl", len(_rows_of(shard, rows)), {}) for shard in range(shards))
    path = put_shard_list(steps.objects, "shards", listed, f"{steps.scratch}/")
    steps.objects.put(f"{steps.scratch}/list", path.encode())


def _plan(steps: JobSteps, shards: int, rows: int, tasks: bool) -> str:
    bound = bind(recipe_from_text(RECIPE % (rows * 300, rows * 200), "recipe.yaml")).mixture
    columns = Scratch(steps.objects, f"{steps.scratch}/columns")
    path = steps.objects.read(f"{steps.scratch}/list").decode()
    listed = ShardList(steps.objects, path, steps.scratch, ListedShard, min(shards, MOST_PLACES))
    passes: Passes = PassesInTasks(columns, listed, steps, Forks()) if tasks else PassesHere(columns, shards)
    cells = tuple(Cell("web", "crawl", f"l{number:02d}") for number in range(LANGUAGES))
    none = Tally()
    rules = RulesSummary(1, "", none, none, (), ())
    inventory = Inventory(passes, columns, listed, cells, "split", Amount(rows, 0), {}, {}, rules, bound.bands)
    notes = split(inventory, bound.config.split)
    stages = plan_stages(inventory, bound, {}, Fraction(1))
    return digest(*notes, *(repr(stage.output) for stage in stages)).hex()


_MAKERS = {"choose": _make_clustered, "plan": _make_candidates}
WORKS = {"choose": _choose, "plan": _plan}


if __name__ == "__main__":
    sys.exit(main())
