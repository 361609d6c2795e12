"""`winnow reference`: train the reference weights of a score, or merge several sets of weights."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import wait_argument
from winnow.runners.stages.opening import bound_recipe, open_console
from winnow.schemas.errors import ScoreError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.scoring.protocol import Weights


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    train = verbs.add_parser("train", help="train a score's reference weights on the samples that the recipe trusts")
    train.add_argument("recipe", metavar="RECIPE", help="a recipe file")
    train.add_argument("--score", metavar="NAME", help="the score to train for; required if the recipe has several")
    train.add_argument("--output", metavar="FILE", help="also write the weights to this safetensors file")
    wait_argument(train)
    merge = verbs.add_parser("merge", help="merge several sets of weights: their mean, or task arithmetic")
    merge.add_argument("files", nargs="+", metavar="WEIGHTS", help="safetensors files of one model")
    merge.add_argument("--output", required=True, metavar="FILE", help="where to write the merged weights")
    merge.add_argument(
        "--base", metavar="FILE", help="the weights that all of them started from; selects task arithmetic"
    )
    merge.add_argument(
        "--scale", type=float, default=1.0, help="the factor of each task vector added to --base (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Train or merge."""
    console = open_console()
    return _train(options, console) if options.verb == "train" else _merge(options, console)


def _train(options: argparse.Namespace, console: "Console") -> int:
    from winnow.pipelines.score.weights import load_weights
    from winnow.runners.stages.lists.whole_file import require_writable
    from winnow.runners.stages.scoring import train_reference
    from winnow.schemas.counts import count_of

    if options.output is not None:
        require_writable("--output", Path(options.output))
    bound, made, store = train_reference(bound_recipe(options.recipe), options.score, console)
    on = f"trained on {count_of(made.samples, 'sample')}" if made.samples else "given by the recipe"
    console.print(f"reference of {bound.entry.layer}  {on}: {made.objects[0]}")
    if options.output is not None:
        _write(Path(options.output), load_weights(store, made.objects[0]), console)
    return 0


def _merge(options: argparse.Namespace, console: "Console") -> int:
    from winnow.filters.models.tensors import read_tensors
    from winnow.runners.stages.lists.whole_file import require_writable
    from winnow.scoring.merging import average, task_arithmetic

    target = Path(options.output)
    require_writable("--output", target)
    if len({os.path.realpath(file) for file in options.files}) < len(options.files):
        raise ScoreError("winnow reference merge: a file is given twice; give each file once")
    read = [*options.files, *([options.base] if options.base is not None else [])]
    if os.path.realpath(target) in {os.path.realpath(file) for file in read}:
        raise ScoreError(f"--output {target} is one of the input files; choose another name")
    found = {path: read_tensors(path).arrays for path in options.files}
    if options.base is None:
        if options.scale != 1.0:
            raise ScoreError("--scale needs --base")
        merged = average(found)
    else:
        merged = task_arithmetic(read_tensors(options.base).arrays, found, options.scale)
    _write(target, merged, console)
    return 0


def _write(target: Path, weights: "Weights", console: "Console") -> None:
    from winnow.filters.models.tensors import tensors_bytes
    from winnow.runners.stages.law.files import write_file

    write_file(target, tensors_bytes(weights, {}))
    console.print(f"weights  {target}")


COMMAND = Command("train or merge reference weights for scores", arguments, run, place=9)
