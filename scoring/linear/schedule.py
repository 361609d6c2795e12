"""The schedule of a training: the samples of each step, their weights, and the checkpoints to keep.

No random generator carries state: a step depends only on the seed and its number, so that training can resume at any
step as if it had never stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.schemas.identity import digest
from winnow.schemas.recipe.score import RelativeTemperature, Temperature
from winnow.scoring.protocol import Checkpoint, Floats, Method, TrainingSettings, Weights
from winnow.scoring.selection.in_batch import scale_of

Integers = NDArray[np.int64]

Watch: TypeAlias = Callable[[int, Integers, Floats], None]
"""Called at each step with its number, its samples, and their weights."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of one training on `count` samples."""

    count: int
    batch: int
    epochs: int
    seed: int
    keep: int

    @property
    def per_epoch(self) -> int:
        """Steps per pass over the samples; the last may have less than a batch."""
        return -(-self.count // self.batch)

    @property
    def steps(self) -> int:
        """The steps of the whole training."""
        return self.epochs * self.per_epoch

    @property
    def kept(self) -> tuple[int, ...]:
        """The steps after which a checkpoint is kept."""
        return tuple(sorted({max(1, self.steps * number // self.keep) for number in range(1, self.keep + 1)}))

    def batches(self, start: int) -> Iterator[tuple[int, Integers]]:
        """The number and samples of each step from `start` on."""
        order, of = np.zeros(0, np.int64), -1
        for step in range(start, self.steps):
            epoch, place = divmod(step, self.per_epoch)
            if epoch != of:
                order, of = epoch_order(self.seed, epoch, self.count), epoch
            yield step, order[place * self.batch : (place + 1) * self.batch]


def schedule_of(count: int, settings: TrainingSettings, reference: Weights | None) -> Schedule:
    """The steps of a training.

    Raises:
        ScoreError: There is nothing to train on, a setting is out of range, or the method lacks its reference.
    """
    if count < 1:
        raise ScoreError("nothing to train on: no sample has an input and a label; check the rule that selects them")
    for name in ("epochs", "batch", "keep"):
        if getattr(settings, name) < 1:
            raise ScoreError(f"{name} {getattr(settings, name)}: expected at least 1")
    given = settings.temperature
    positive = {
        "learning_rate": settings.learning_rate,
        "temperature": given.relative if isinstance(given, RelativeTemperature) else given,
    }
    for name, value in positive.items():
        if not 0 < value < np.inf:
            raise ScoreError(f"{name} {value}: expected a number above 0")
    if not 0 <= settings.weight_decay < np.inf:
        raise ScoreError(f"weight_decay {settings.weight_decay}: expected 0 or more")
    if reference is None and settings.method in ("mimic", "rho"):
        raise ScoreError(f"method {settings.method}: needs reference weights; give some, or train them first")
    return Schedule(count, settings.batch, settings.epochs, settings.seed, settings.keep)


def epoch_order(seed: int, epoch: int, count: int) -> Integers:
    """The order of the samples in an epoch."""
    return generator(seed, "epoch", epoch).permutation(count)


def generator(*parts: str | int) -> np.random.Generator:
    """Random numbers that depend only on these parts."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest(*parts), "little")))


def in_batch(method: Method, values: Floats, temperature: Temperature) -> Floats:
    """The weight of each sample of a batch; they sum to 1.

    Args:
        method: Defines the values: scores, gradient norms, losses above the reference's; unused for `uniform`.
        values: One per sample.
        temperature: Used only for scores, as in the paper; a relative one is in units of their standard deviation.
    """
    if method == "uniform":
        return np.full(len(values), 1 / len(values))
    if method == "mimic":
        values = values / scale_of(values, temperature)
    raised: Floats = np.exp(values - values.max())
    raised /= raised.sum()
    return raised


def require_finite(weights: Weights, step: int) -> None:
    """Raise an error for weights that are not finite.

    Raises:
        ScoreError: Training diverged.
    """
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise ScoreError(f"the training diverged before step {step:,}; lower learning_rate, or check the features")


class Stepping(Protocol):
    """A training that advances step by step."""

    steps: int  # done so far

    def advance(self, which: Integers) -> Floats:
        """Take one step on these examples; returns the weight of each."""

    def checkpoint(self) -> Checkpoint:
        """The current state."""


def stepped(
    training: Stepping, schedule: Schedule, start: Checkpoint | None, watch: Watch | None
) -> Iterator[Checkpoint]:
    """Yield the checkpoints to keep; yields `start` again if no steps are left."""
    if training.steps > schedule.steps:
        raise ScoreError(f"the checkpoint is of step {training.steps:,}; this training ends at {schedule.steps:,}")
    if start is not None and start.step == schedule.steps:
        yield start
    for step, which in schedule.batches(training.steps):
        weighed = training.advance(which)
        if watch is not None:
            watch(step, which, weighed)
        if step + 1 in schedule.kept:
            found = training.checkpoint()
            require_finite(found.weights, found.step)
            yield found
