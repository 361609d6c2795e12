"""What the score of a linear head costs from samples on, beside its forward pass from samples on.

    python -m benchmarks.mimic.samples [--quick] [--json]

Both read the same texts or decoded pictures as the task `linear_head` does, and one thread then says the losses of one
head, or the scores of one checkpoint and of each of five. By the CPU time of that thread, turn by turn. Frozen networks
need PyTorch; the benchmark makes an environment that has it.
"""

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import require_assets, require_torch
from benchmarks.measuring.reporting import Report, benchmark_arguments, show, thread_seconds
from winnow.filters.image.decode.shrink import resized
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.processes.identity import THREAD_LIMITS, limit_threads
from winnow.schemas.efficientnet import SIDE
from winnow.scoring.protocol import IMAGE, TEXT, Weights, picture_type
from winnow.scoring.tasks.linear_head import TASK, LinearHead, LinearHeadConfig
from winnow.scoring.torch_models.frozen import KINDS

FORWARD, HASHED = "a forward pass", "hashed"
FLOOR = 1 / 1.1
CHECKPOINTS = 5
CLASSES = 10


def main() -> int:
    """A report for each kind of features; the exit status says whether every promise was kept."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    require_torch("benchmarks.mimic.samples")
    if not any(name in os.environ for name in THREAD_LIMITS):  # numpy has read them by now
        limit_threads()
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.mimic.samples", *sys.argv[1:]])
    rows, turns = (200, 3) if options.quick else (1_000, 5)
    status = 0
    import_module("torch").set_num_threads(1)
    require_assets(TASK.declares)
    for kind in (HASHED, *KINDS):
        count = rows if kind == HASHED else rows // 10
        for report in compared(kind, _batch(kind, count), turns, quick=options.quick):
            print(f"{report.name}: {report.ours:,.0f} {report.unit}")
            status = max(status, show(report, options.json))
    return status


def compared(kind: str, batch: pa.RecordBatch, turns: int, *, quick: bool = False) -> Iterator[Report]:
    """Scores at one checkpoint, and at several, beside losses; everything is read anew each time."""
    labels = tuple(range(CLASSES))
    config = LinearHeadConfig(label="label", labels=labels, features=cast(Any, kind))
    task = cast(LinearHead, TASK.load(config, AssetFiles()))
    reference, *heads = (_head(task, number) for number in range(CHECKPOINTS + 1))
    one, several = task.scorers(heads[:1], reference, ("*",)), task.scorers(heads, reference, ("*",))
    ways: list[Callable[[], object]] = [
        lambda: task.losses(heads[0], task.encode(batch).examples),
        lambda: one(task.encode(batch).examples),
        lambda: several(task.encode(batch).examples),
    ]
    took = [[thread_seconds(way) for way in ways] for _ in range(turns + 1)][1:]  # the first turn compiles
    forward, single, all_of_them = map(statistics.median, zip(*took, strict=True))
    rate = batch.num_rows / forward
    measured = (("one checkpoint", 1, single), (f"each of {CHECKPOINTS} checkpoints", CHECKPOINTS, all_of_them))
    for what, done, seconds in measured:
        name = f"score from samples on, {kind}, {what}"
        ours = done * batch.num_rows / seconds
        yield Report(name, "samples/s", ours, peers={FORWARD: rate}, floors={FORWARD: FLOOR}, quick=quick)


def _batch(kind: str, count: int) -> pa.RecordBatch:
    labels = pa.array(np.random.default_rng(0).integers(0, CLASSES, count))
    if kind == "efficientnet":
        return pa.record_batch({IMAGE: pa.array(list(_pictures(count)), picture_type(SIDE)), "label": labels})
    texts = pq.read_table(cached_documents(count), columns=["text"])["text"].combine_chunks().cast(pa.large_string())
    return pa.record_batch({TEXT: texts, "label": labels})


def _pictures(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield resized(np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8), SIDE, SIDE).tobytes()


def _head(task: LinearHead, number: int) -> Weights:
    noise = np.random.default_rng(number)
    initial = task.initial(0)
    return {name: (one + noise.normal(0, 0.01, one.shape)).astype(one.dtype) for name, one in initial.items()}


if __name__ == "__main__":
    sys.exit(main())
