"""The exchange: 50 million 16-byte keys grouped on one machine in 2 GiB, and the same by GroupByKey of elements.

Each producing task makes its keys from a seed, 1 % of them planted so that the right answer is known: planted
keys form groups of exactly four, spread over tasks, and all others are alone. Both sides run on Beam's
FnApiRunner with two worker processes; memory is that of all processes together. The peer runs at the largest size
that fits in the same memory. `per_element_groupbykey` compares rates, each side at its size;
`per_element_groupbykey_same_input` compares both on the peer's, where starting Beam is most of our time.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from benchmarks.measuring.reporting import (
    GIB,
    Amounts,
    Limit,
    Measured,
    Row,
    benchmark_arguments,
    compared,
    measure,
    show,
    timed,
    wall_seconds,
)
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Exchange, Files, addressed_blocks, partition_of_key, partitions_for
from winnow.pipelines.store.local import LocalStore

KEY = pa.binary(16)
KEYS_IN_A_TASK = 500_000
PLANTED_IN_A_TASK = 5_000
TASKS, SHARED_TASKS = 100, 7  # what ours is promised for, and the most that the peer can do in the same memory
QUICK_TASKS, QUICK_SHARED_TASKS = 30, 3
GROUP_SIZE = 4
GROUP_BYTES = 32 << 20  # sorting takes several times the group, in each worker

Words = npt.NDArray[np.uint64]
Counts = tuple[int, int, int]
"""Keys, groups of one, groups of `GROUP_SIZE`."""


def task_keys(task: int, tasks: int) -> Words:
    """A task's keys as rows of two words."""
    keys = np.random.Generator(np.random.PCG64([task, 7])).integers(
        0, 1 << 64, (KEYS_IN_A_TASK, 2), np.uint64, endpoint=False
    )
    planted = task * PLANTED_IN_A_TASK + np.arange(PLANTED_IN_A_TASK, dtype=np.uint64)
    group = planted % np.uint64(tasks * PLANTED_IN_A_TASK // GROUP_SIZE)
    keys[:PLANTED_IN_A_TASK, 0] = group * np.uint64(0x9E3779B97F4A7C15)
    keys[:PLANTED_IN_A_TASK, 1] = group
    return keys


def expected_counts(tasks: int) -> Counts:
    """The right answer."""
    planted = tasks * PLANTED_IN_A_TASK
    return tasks * KEYS_IN_A_TASK, tasks * KEYS_IN_A_TASK - planted, planted // GROUP_SIZE


def key_blocks(task: int, tasks: int) -> Iterator[AddressedBlock]:
    """A task's keys, packed by partition."""
    keys = pa.FixedSizeBinaryArray.from_buffers(KEY, KEYS_IN_A_TASK, [None, pa.py_buffer(task_keys(task, tasks))])
    partitions = partitions_for(tasks * KEYS_IN_A_TASK * KEY.byte_width, GROUP_BYTES)
    batch = pa.RecordBatch.from_arrays([keys], ["key"])
    return addressed_blocks(f"task-{task:06d}", [(batch, partition_of_key(keys, partitions))], partitions)


def group_sizes(batches: Iterator[pa.RecordBatch]) -> npt.NDArray[np.int64]:
    """How many rows each distinct key has, in order of the keys."""
    parts = [np.frombuffer(batch["key"].buffers()[1], np.uint64).reshape(-1, 2) for batch in batches]
    keys = np.concatenate(parts)
    order = np.argsort(keys[:, 0])
    high, low = keys[order, 0], keys[order, 1]
    del keys, parts, order
    same = high[1:] == high[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    # The second word decides only where the first is equal, and those rows stand together already.
    low[tied] = low[tied][np.lexsort((low[tied], high[tied]))]
    starts = np.flatnonzero(np.append(True, ~same | (low[1:] != low[:-1])))
    return np.diff(np.append(starts, len(high)))


def count_groups(_: int, batches: Iterator[pa.RecordBatch]) -> Iterator[Counts]:
    """A partition's keys, groups of one and groups of `GROUP_SIZE`."""
    histogram = np.bincount(group_sizes(batches), minlength=GROUP_SIZE + 1)
    yield int(histogram @ np.arange(len(histogram))), int(histogram[1]), int(histogram[GROUP_SIZE])


def key_elements(task: int, tasks: int) -> Iterator[tuple[bytes, int]]:
    """A task's keys, each a Beam element with its row number."""
    keys = task_keys(task, tasks).tobytes()
    return ((keys[16 * row : 16 * row + 16], row) for row in range(KEYS_IN_A_TASK))


def count_members(group: tuple[bytes, Iterable[int]]) -> Counts:
    """One group's keys, and which count it adds to."""
    size = sum(1 for _ in group[1])
    return size, int(size == 1), int(size == GROUP_SIZE)


def add_counts(counts: Iterable[Counts]) -> Counts:
    """The sum over partitions."""
    keys, ones, fours = zip((0, 0, 0), *counts, strict=True)
    return sum(keys), sum(ones), sum(fours)


def write_counts(counts: Counts, path: str) -> None:
    """Where the parent process finds the answer."""
    Path(path).write_bytes(orjson.dumps(counts))


def run_case(case: str, tasks: int) -> None:
    """Runs one pipeline in this process and its two workers, and checks the answer."""
    options = PipelineOptions(["--direct_running_mode=multi_processing", "--direct_num_workers=2"])
    with tempfile.TemporaryDirectory(prefix="winnow-exchange-") as folder:
        answer = Path(folder) / "answer.json"
        with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
            started = pipeline | beam.Create(range(tasks))
            if case == "files":
                counts = (
                    started
                    | beam.FlatMap(key_blocks, tasks).with_output_types(AddressedBlock)
                    | Exchange(count_groups, transport=Files(LocalStore(Path(folder)), "scratch"), emits=Counts)
                )
            else:
                counts = (
                    started
                    | beam.FlatMap(key_elements, tasks).with_output_types(tuple[bytes, int])
                    | beam.GroupByKey()
                    | beam.Map(count_members).with_output_types(Counts)
                )
            total = counts | beam.CombineGlobally(add_counts).with_output_types(Counts)
            total | beam.Map(write_counts, str(answer))
        found = tuple(orjson.loads(answer.read_bytes()))
    if found != expected_counts(tasks):
        raise SystemExit(f"{case}: expected {expected_counts(tasks)} keys, singles and fours, found {found}")
    print("right")


def measured_case(case: str, tasks: int) -> Measured:
    """One case in a process of its own."""
    return measure([sys.executable, "-m", "benchmarks.exchange", "--case", case, "--tasks", str(tasks)])


def main() -> int:
    """Both sides, and the memory that ours took."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--case", choices=["files", "elements"], help=argparse.SUPPRESS)
    parser.add_argument("--tasks", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        run_case(arguments.case, arguments.tasks)
        return 0
    quick = arguments.quick
    ours = _row("files", QUICK_TASKS if quick else TASKS, TASKS, quick)
    # Of few keys nearly all the time is starting, so they tell little of the time that each takes.
    ours_shared = replace(_row("files", SHARED_TASKS, SHARED_TASKS, quick), startup=ours.startup)
    theirs = _row("elements", QUICK_SHARED_TASKS if quick else SHARED_TASKS, SHARED_TASKS, quick)
    report = compared(
        "exchange",
        "keys/s",
        ours,
        {"per_element_groupbykey": theirs, "per_element_groupbykey_same_input": theirs},
        {"per_element_groupbykey_same_input": ours_shared},
        floors={"per_element_groupbykey": 10},
        limit=Limit("peak memory of all processes", ours.measured.peak_bytes / GIB, 2, "GiB"),
        rows=[ours, ours_shared, theirs],
        quick=quick,
    )
    return show(report, arguments.json)


def _row(case: str, tasks: int, full: int, quick: bool) -> Row:
    amounts = Amounts(*(number * KEYS_IN_A_TASK for number in (tasks, full, 1)))
    runs = 1 if quick else 3
    return timed(case, "keys", amounts, lambda keys: measured_case(case, keys // KEYS_IN_A_TASK), runs, wall_seconds)


if __name__ == "__main__":
    # Workers import this module by its name: what runs here must be that module too, not `__main__`.
    from benchmarks.exchange import main as main_by_name

    sys.exit(main_by_name())
