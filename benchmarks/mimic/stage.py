"""The stage of scores beside a bare loop over the same texts.

    python -m benchmarks.mimic.stage [--quick] [--json] [--samples N]

Ours is `winnow score` with one worker on one pinned core: it reads texts, scores them by the task `next_byte` at three
checkpoints that are given, writes, hashes and commits the traces, and fits the filter; start-up included. The loop is a
process that reads the same texts from the same files and calls the same task: nothing is written.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.export.stores import Prepared, pinned, prepared_store, winnow
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed
from winnow.filters.models.tensors import read_tensors, tensors_bytes
from winnow.scoring.tasks import find_task

MANY, QUICK = 50_000, 20_000
SMALL = 2_000  # samples: hardly more than start-up
FLOOR = 0.85
CHECKPOINTS = 3
ROWS = 2048

SCORE = """
score:
  mimic:
    task: next_byte
    reference: {{weights: {weights}/reference.safetensors}}
    trajectory: {{weights: [{weights}/0.safetensors, {weights}/1.safetensors, {weights}/2.safetensors]}}
"""


def main() -> int:
    """Measure both, or be the loop."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--samples", type=int, help=f"how many ({MANY}; {QUICK} if quick)")
    parser.add_argument("--loop", nargs=2, metavar=("STORE", "WEIGHTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        _loop(*map(Path, options.loop))
        return 0
    now = options.samples or (QUICK if options.quick else MANY)
    amounts = Amounts(now, MANY if options.quick else now, min(SMALL, now // 10))
    stores = {samples: prepared_store(samples) for samples in (amounts.small, amounts.now)}
    rounds = 1 if options.quick else 3
    with tempfile.TemporaryDirectory(dir=".cache", prefix="stage-") as name:
        scratch = Path(name).absolute()
        write_weights(scratch)

        def loop(samples: int) -> Measured:
            arguments = ("--loop", str(stores[samples].store), str(scratch))
            return measure(pinned([sys.executable, "-m", "benchmarks.mimic.stage", *arguments]))

        ours = timed("winnow score", "samples", amounts, lambda samples: _scored(stores[samples], scratch), rounds)
        theirs = timed("bare loop", "samples", amounts, loop, rounds)
    report = compared(
        "mimic_stage",
        "samples/CPU-s",
        ours,
        {"bare_loop": theirs},
        floors={"bare_loop": FLOOR},
        rows=[ours, theirs],
        quick=options.quick,
    )
    return show(report, options.json)


def _scored(prepared: Prepared, scratch: Path) -> Measured:
    """One run in a copy of the store."""
    store = scratch / "store"
    shutil.copytree(prepared.store, store, copy_function=_linked)
    try:
        recipe = prepared.recipe(scratch / "score.yaml", "  - {parquet: {path: out}}", store=store)
        recipe.write_text(recipe.read_text() + SCORE.format(weights=scratch))
        return winnow("score", recipe)
    finally:
        shutil.rmtree(store)


def _linked(source: str, target: str) -> str:
    Path(target).hardlink_to(source)
    return target


def write_weights(folder: Path) -> None:
    """Write weights by chance, as the recipe's lines `SCORE` name them."""
    task = find_task("next_byte").load(find_task("next_byte").config(), None)  # type: ignore[arg-type]
    chance = np.random.default_rng(0)
    for name in ("reference", *map(str, range(CHECKPOINTS))):
        initial = task.initial(0)  # type: ignore[union-attr]
        arrays = {key: chance.normal(0, 0.05, one.shape).astype(one.dtype) for key, one in initial.items()}
        (folder / f"{name}.safetensors").write_bytes(tensors_bytes(arrays, {}))


def _loop(store: Path, weights: Path) -> None:
    """Read, encode, score; the sum of all scores is printed, so that nothing is left out."""
    kind = find_task("next_byte")
    task = kind.load(kind.config(), None)  # type: ignore[arg-type]
    reference = read_tensors(str(weights / "reference.safetensors")).arrays
    at = [read_tensors(str(weights / f"{number}.safetensors")).arrays for number in range(CHECKPOINTS)]
    scorers = task.scorers(at, reference, ("*",))  # type: ignore[union-attr]
    total = 0.0
    for path in sorted((store / "samples").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(ROWS, columns=["text"], use_threads=False):
            texts = batch.set_column(0, "text", pc.cast(batch["text"], "large_string"))
            encoded = task.encode(texts)
            for scored in scorers(encoded.examples):
                total += float(scored.score.sum())
            total += float(task.losses(reference, encoded.examples).sum())  # type: ignore[union-attr]
    print(total)


if __name__ == "__main__":
    sys.exit(main())
