"""Scores and training of PyTorch tasks beside bare loops of the same sums, and what fewer digits cost.

One thread, CPU time, turn by turn. Scores: texts under a small causal language model at three checkpoints, with the
loss under a reference, by the task and by a loop of `torch.func.jvp`. Training: AdamW over the same batches, by the
task and by a loop. Then how far scores in each type are from those in float64. `--quick` has fewer texts and turns.
Needs PyTorch, and makes an environment that has it.
"""

import statistics
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from benchmarks.measuring.environments import require_torch
from benchmarks.measuring.reporting import Report, benchmark_arguments, show, thread_seconds
from winnow.scoring.mimic.direction import direction
from winnow.scoring.protocol import TrainingSettings, Weights
from winnow.scoring.tasks.language_model import TASK, LanguageModel, LanguageModelConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.examples import Examples
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch
from winnow.scoring.torch_models.training import BETAS, EPSILON

LOOP: Final = "a bare loop"
FLOOR: Final = 0.9
CHECKPOINTS: Final = 3
CONFIG: Final = LanguageModelConfig(network=Size(128, 4, 4), max_tokens=128)
SETTINGS: Final = TrainingSettings(epochs=1, batch=16, learning_rate=1e-3)
TYPES: Final[tuple[Literal["float32", "bfloat16"], ...]] = ("float32", "bfloat16")


class _NoFiles:
    def path(self, name: str) -> str:
        """None is asked for."""
        raise ValueError(name)


def loaded(config: LanguageModelConfig = CONFIG) -> LanguageModel:
    """The task."""
    found = TASK.load(config, _NoFiles())
    assert isinstance(found, LanguageModel)
    return found


def texts(task: LanguageModel, count: int) -> Examples:
    """Texts of 128 letters, so that every batch has one width."""
    letters = np.random.default_rng(0).integers(97, 123, (count, 128), np.uint8)
    made = task.encode(pa.record_batch({"text": [one.tobytes().decode() for one in letters]}))
    assert isinstance(made.examples, Examples)
    return made.examples


def trajectory(task: LanguageModel) -> tuple[list[Weights], Weights]:
    """Checkpoints and a reference near them."""
    noise = np.random.default_rng(1)
    at = [task.initial(seed) for seed in range(CHECKPOINTS)]
    near = {name: (one + noise.normal(0, 0.01, one.shape)).astype(one.dtype) for name, one in at[0].items()}
    return at, near


def scored(task: LanguageModel, examples: Examples, turns: int) -> tuple[float, float]:
    """Texts a second, of the task and of the loop."""
    torch: Any = import_module("torch")
    jvp = import_module("torch.func").jvp
    at, reference = trajectory(task)
    scorers = task.scorers(at, reference, ("*",))
    held = [{name: torch.from_numpy(one) for name, one in weights.items()} for weights in (*at, reference)]
    units = [direction(one, reference, list(one)).unit for one in at]
    steps = [{name: torch.from_numpy(np.asarray(one)) for name, one in unit.items()} for unit in units]
    losses = task.model.losses

    def ours() -> Any:
        return [*(one.score for one in scorers(examples)), task.losses(reference, examples)]

    def loop() -> Any:
        found = []
        with exclusive_torch():
            batch = task.batch(examples)
            parts = [tuple(one[start : start + 16] for one in batch) for start in range(0, examples.count, 16)]
            for weights, step in zip(held, steps, strict=False):
                slopes = [
                    jvp(lambda changed, part=part: losses(changed, part), (weights,), (step,))[1] for part in parts
                ]
                found.append(-torch.cat(slopes).numpy())
            found.append(torch.cat([losses(held[-1], part) for part in parts]).numpy())
        return found

    for one, other in zip(ours(), loop(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())
    return _rates((ours, loop), examples.count, turns)


def trained(task: LanguageModel, examples: Examples, turns: int) -> tuple[float, float]:
    """Texts a second of training, of the task and of the loop."""
    torch: Any = import_module("torch")
    losses = task.model.losses

    def ours() -> Any:
        return next(task.train(examples, examples.count, SETTINGS, None, None)).weights

    def loop() -> Any:
        weights = {name: torch.from_numpy(one.copy()).requires_grad_() for name, one in task.initial(0).items()}
        with exclusive_torch(), torch.enable_grad():
            optimiser = torch.optim.AdamW(
                weights.values(), SETTINGS.learning_rate, BETAS, EPSILON, SETTINGS.weight_decay, foreach=False
            )
            for start in range(0, examples.count, SETTINGS.batch):
                batch = task.batch(examples.chosen(np.arange(start, min(start + SETTINGS.batch, examples.count))))
                optimiser.zero_grad()
                losses(weights, batch).mean().backward()
                optimiser.step()
        return weights

    return _rates((ours, loop), examples.count, turns)


def apart(examples_of: int, kind: Literal["float32", "bfloat16"]) -> tuple[float, float]:
    """The largest error of a score and of a loss in a type, relative to the largest in float64."""
    found = []
    for compute in ("float64", kind):
        task = loaded(replace(CONFIG, running=TorchRuntime(compute=compute)))
        at, reference = trajectory(task)
        (said,) = task.scorers(at[:1], reference, ("*",))(texts(task, examples_of))
        found.append(said)
    whole, fewer = found
    errors = [np.abs(getattr(fewer, name) - getattr(whole, name)).max() for name in ("score", "loss")]
    return errors[0] / np.abs(whole.score).max(), errors[1] / np.abs(whole.loss).max()


def _rates(calls: tuple[Any, Any], count: int, turns: int) -> tuple[float, float]:
    took = [[thread_seconds(call) for call in calls] for _ in range(turns)]
    ours, theirs = (count / statistics.median(seconds) for seconds in zip(*took, strict=True))
    return ours, theirs


def main() -> int:
    """The exit status says whether every promise was kept."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    require_torch("benchmarks.mimic.loops")
    import_module("torch").set_num_threads(1)
    task = loaded()
    examples = texts(task, 32 if options.quick else 64)
    turns, status = (3 if options.quick else 7), 0
    for name, measured in (("scores", scored), ("training", trained)):
        ours, theirs = measured(task, examples, turns)
        report = Report(
            f"PyTorch tasks, {name}", "texts/s", ours, peers={LOOP: theirs}, floors={LOOP: FLOOR}, quick=options.quick
        )
        status = max(status, show(report, options.json))
    for kind in TYPES:
        score, loss = apart(32, kind)
        print(f"{kind}: scores are within {score:.1e} of the largest in float64, losses within {loss:.1e}")
    return status


if __name__ == "__main__":
    sys.exit(main())
