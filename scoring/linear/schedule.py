"""What a training does when: which samples a step sees, how they weigh, which checkpoints are kept.

Nothing is drawn from a generator that carries state: a step follows from the seed and its number, so that a training
goes on from any step as if it had never stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.schemas.identity import digest
from winnow.scoring.tasks.protocol import Checkpoint, Floats, Method, TrainingSettings, Weights

Integers = NDArray[np.int64]

Watch: TypeAlias = Callable[[int, Integers, Floats], None]
"""Told at each step its number, the samples of its batch, and what they weighed."""


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
        """Steps that see each sample once; the last of them may see fewer than a batch."""
        return -(-self.count // self.batch)

    @property
    def steps(self) -> int:
        """Of the whole training."""
        return self.epochs * self.per_epoch

    @property
    def kept(self) -> tuple[int, ...]:
        """After how many steps a checkpoint is kept."""
        return tuple(sorted({max(1, self.steps * number // self.keep) for number in range(1, self.keep + 1)}))

    def batches(self, start: int) -> Iterator[tuple[int, Integers]]:
        """The number of each step from a number on, and the samples that it sees."""
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
        raise ScoreError("nothing to train on: no sample has an input and a label; check the rule that names them")
    for name in ("epochs", "batch", "keep"):
        if getattr(settings, name) < 1:
            raise ScoreError(f"{name} {getattr(settings, name)}: expected at least 1")
    for name in ("learning_rate", "temperature"):
        if not 0 < getattr(settings, name) < np.inf:
            raise ScoreError(f"{name} {getattr(settings, name)}: expected a number above 0")
    if not 0 <= settings.weight_decay < np.inf:
        raise ScoreError(f"weight_decay {settings.weight_decay}: expected 0 or more")
    if reference is None and settings.method in ("mimic", "rho"):
        raise ScoreError(f"method {settings.method}: needs reference weights; give some, or train them first")
    return Schedule(count, settings.batch, settings.epochs, settings.seed, settings.keep)


def epoch_order(seed: int, epoch: int, count: int) -> Integers:
    """The order in which an epoch sees the samples."""
    return generator(seed, "epoch", epoch).permutation(count)


def generator(*parts: str | int) -> np.random.Generator:
    """Random numbers that depend on nothing but these parts."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest(*parts), "little")))


def in_batch(method: Method, values: Floats, temperature: float) -> Floats:
    """What each sample of a batch weighs; they sum to 1.

    Args:
        method: What the values are: scores, norms of gradients, losses above the reference's; nothing for `uniform`.
        values: One a sample.
        temperature: Of scores alone, as in the paper.
    """
    if method == "uniform":
        return np.full(len(values), 1 / len(values))
    if method == "mimic":
        values = values / temperature
    raised: Floats = np.exp(values - values.max())
    raised /= raised.sum()
    return raised


def require_finite(weights: Weights, step: int) -> None:
    """Refuse to keep weights that are no numbers.

    Raises:
        ScoreError: Some are not.
    """
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise ScoreError(f"the training diverged before step {step:,}; lower learning_rate, or check the features")


class Stepping(Protocol):
    """A training that goes a step at a time."""

    steps: int  # that are done

    def advance(self, which: Integers) -> Floats:
        """One step on these examples; what each weighed."""

    def checkpoint(self) -> Checkpoint:
        """What stands."""


def stepped(
    training: Stepping, schedule: Schedule, start: Checkpoint | None, watch: Watch | None
) -> Iterator[Checkpoint]:
    """The checkpoints that are to be kept; one that training goes on from is given again where nothing is left."""
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
