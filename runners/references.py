"""`winnow reference`: the weights that scores point to."""

import argparse
import os
from pathlib import Path

from rich.console import Console

from winnow.filters.models.tensors import read_tensors, tensors_bytes
from winnow.pipelines.score.weights import load_weights
from winnow.runners.law.files import write_whole
from winnow.runners.rules import require_writable
from winnow.runners.scoring import train_reference
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe import load_recipe
from winnow.scoring.merging import average, task_arithmetic
from winnow.scoring.tasks.protocol import Weights


def run_reference(options: argparse.Namespace, console: Console) -> int:
    """One verb."""
    return _train(options, console) if options.verb == "train" else _merge(options, console)


def _train(options: argparse.Namespace, console: Console) -> int:
    if options.output is not None:
        require_writable("--output", Path(options.output))
    bound, made, store = train_reference(load_recipe(options.recipe), options.score, console)
    on = f"trained on {made.samples:,} samples" if made.samples else "as the recipe gives it"
    console.print(f"reference of {bound.entry.layer}  {on}: {made.objects[0]}", markup=False, soft_wrap=True)
    if options.output is not None:
        _write(Path(options.output), load_weights(store, made.objects[0]), console)
    return 0


def _merge(options: argparse.Namespace, console: Console) -> int:
    target = Path(options.output)
    require_writable("--output", target)
    if len({os.path.realpath(file) for file in options.files}) < len(options.files):
        raise ScoreError("winnow reference merge: a file is named twice; name each once")
    read = [*options.files, *([options.base] if options.base is not None else [])]
    if os.path.realpath(target) in {os.path.realpath(file) for file in read}:
        raise ScoreError(f"--output {target} is one of the files that are read; write another")
    found = {path: read_tensors(path).arrays for path in options.files}
    if options.base is None:
        if options.scale != 1.0:
            raise ScoreError("--scale says how much is added to --base, and there is none")
        merged = average(found)
    else:
        merged = task_arithmetic(read_tensors(options.base).arrays, found, options.scale)
    _write(target, merged, console)
    return 0


def _write(target: Path, weights: Weights, console: Console) -> None:
    write_whole(target, tensors_bytes(weights, {}))
    console.print(f"weights  {target}", markup=False, soft_wrap=True)
