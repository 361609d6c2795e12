"""The base of tasks with PyTorch models: everything except reading rows and the loss."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np
import pyarrow as pa

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.schedule import schedule_of
from winnow.scoring.mimic.direction import chosen_parameters, direction
from winnow.scoring.mimic.exact import BatchScores, MimicScorer, MimicSettings
from winnow.scoring.mimic.memory import BatchPortions, whole_batch
from winnow.scoring.mimic.models import Batch, Model, SampleModel
from winnow.scoring.protocol import (
    Checkpoint,
    Encoded,
    Floats,
    Scored,
    Scorer,
    Scorers,
    TrainingSettings,
    Weights,
    references_of,
    with_loss,
)
from winnow.scoring.torch_models.examples import Examples, Indices, joined
from winnow.scoring.torch_models.networks import Network, Parameters, compiled
from winnow.scoring.torch_models.parts import gradients, parts_of, total_of
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch
from winnow.scoring.torch_models.training import Training, train
from winnow.scoring.torch_models.weights import array_of, arrays_of, as_stored, check_weights, tensors_of

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

BatchFunction: TypeAlias = Callable[[Batch], Sequence[Floats]]
"""Computes columns from a batch, with one number per row."""

_CERTAIN: Final = 1e-2
"""The largest error of a score by differences, relative to the batch's largest score; others become NaN."""

_FELL_BACK: set[str] = set()
"""The networks with a logged warning, so that it is logged once per network instead of per batch."""


class TorchTask(ABC):
    """Implements `winnow.scoring.protocol.Task` for a network and the loss of each example.

    Args:
        network: The network.
        running: The device and precision.
        model: The loss of each example of a batch, as a function of weights.
    """

    name: ClassVar[str]

    def __init__(self, network: Network, running: TorchRuntime, model: Model) -> None:
        self.network = compiled(network) if running.compiled else network
        self.running, self.model = running, model
        self._portions = BatchPortions(running.memory_bytes)
        self._reference: tuple[Weights, Parameters] | None = None  # weights on the device, as given last
        self._inputs: tuple[Examples, list[tuple[Indices, Batch]]] | None = None  # examples on the device, given last

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns that `encode` needs."""

    @abstractmethod
    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read rows as `Examples`."""

    @abstractmethod
    def batch(self, examples: Examples) -> Batch:
        """The model's inputs for examples, on the CPU."""

    def groups(self, examples: Examples) -> list[Indices]:
        """The groups of examples that may or must share a batch; examples without a group have no loss."""
        return [np.arange(examples.count)] if examples.count else []

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads; 0 if it reads none."""
        return 0

    def joined(self, parts: Sequence[Examples]) -> Examples:
        """Concatenate examples."""
        return joined(parts)

    def chosen(self, examples: Examples, which: Indices) -> Examples:
        """Some examples, in this order."""
        return examples.chosen(which)

    def initial(self, seed: int) -> Weights:
        """Untrained weights."""
        return as_stored(arrays_of(self.network.initial(seed)), self.running)

    def check(self, weights: Weights, where: str) -> None:
        """Raise ScoreError if weights are not of this network, or not finite."""
        check_weights(self.network, weights, self.running, where)

    def scorers(
        self,
        at: Sequence[Weights],
        reference: Weights | Sequence[Weights],
        parameters: Sequence[str],
        *,
        cosine: bool = False,
    ) -> Scorers:
        """A scorer at several weights, which get the same inputs on the device; equal weights are there once."""
        made: dict[int, MimicScorer] = {}
        each = []
        for one, goal in zip(at, references_of(at, reference), strict=True):
            each.append(self._mimic_scorer(one, goal, parameters, made.get(id(one)), cosine=cosine))
            made[id(one)] = each[-1]
        return TorchScorers(self, each)

    def scorer(self, at: Weights, reference: Weights, parameters: Sequence[str], *, cosine: bool = False) -> Scorer:
        """A scorer at given weights in the direction of others; see `Task`."""
        several = self.scorers((at,), reference, parameters, cosine=cosine)
        return lambda examples: several(examples)[0]

    def _mimic_scorer(
        self, at: Weights, reference: Weights, parameters: Sequence[str], there: MimicScorer | None, *, cosine: bool
    ) -> MimicScorer:
        """Gives the losses and scores of a batch at given weights, of which another scorer may be `there` already."""
        self.check(at, "the weights that are scored at")
        self.check(reference, "the reference")
        start, goal = (
            as_stored({name: one[name] for name in self.network.shapes}, self.running) for one in (at, reference)
        )
        towards = direction(start, goal, chosen_parameters(self.network.trained, parameters))
        if there is not None:
            return there.along(towards)
        settings = MimicSettings(self.running.placement, max_bytes=self.running.memory_bytes, cosine=cosine)
        return MimicScorer(self.model, start, towards, settings)

    def _certain(self, found: BatchScores) -> Floats:
        """The scores; NaN if differences of losses are too uncertain."""
        if found.means == "forward":
            return found.score
        what = self.network.name or f"task {self.name}"
        if what not in _FELL_BACK:
            _FELL_BACK.add(what)
            logging.getLogger("winnow").warning(
                "%s has no forward derivative: scores are taken by differences of losses, which takes longer; a score "
                "whose error may exceed %g of the largest of its batch is left out",
                what,
                _CERTAIN,
            )
        largest = np.abs(found.score[np.isfinite(found.score)]).max(initial=0.0)
        return np.where(found.error <= _CERTAIN * largest, found.score, np.nan)

    def losses(self, weights: Weights, examples: Examples) -> Floats:
        """The loss of each example; NaN if undefined."""
        parameters = self._placed(weights)
        return self._outputs(examples, lambda batch: (self._losses_of(parameters, batch),), 1)[0]

    def gradient(self, weights: Weights, examples: Examples, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean loss of examples; see `Task`."""
        which = with_loss(self.losses(weights, examples))
        return self._gradient(weights, self.chosen(examples, which), np.full(len(which), 1 / len(which)), parameters)

    def _gradient(self, weights: Weights, examples: Examples, shares: Floats, parameters: Sequence[str]) -> Weights:
        """The gradient of a weighted sum of losses, computed for as many examples at a time as fit in memory."""
        import torch

        held = tensors_of(self.network, weights, self.running)
        names = chosen_parameters(self.network.trained, parameters)
        of, portions = [held[name].requires_grad_() for name in names], BatchPortions(self.running.memory_bytes)
        found = [torch.zeros_like(one) for one in of]

        def narrow() -> Parameters:
            return {name: self.running.placement.tensor(one) for name, one in held.items()}

        def tried(part: Batch) -> None:
            sums = total_of(self.model, narrow(), part)
            torch.autograd.grad(sums, of, allow_unused=True)

        for which, batch in self._batches(examples):
            with exclusive_torch(self.running.device), torch.enable_grad():
                wanted = torch.from_numpy(shares[which]).to(self.running.device, self.running.compute_dtype)

                def weighed(losses: "Tensor", part: slice, wanted: "Tensor" = wanted) -> "list[Tensor]":
                    return [(wanted[part] * losses).sum()]

                size = portions.size(batch, tried) if len(batch[0]) > 1 else 1
                whole = (batch,) if isinstance(self.model, SampleModel) else self.model.parts(batch)
                parts = [one for some in whole for one in parts_of(some, size)]
                (slopes,) = gradients(self.model, narrow, parts, weighed, [of])
            for total, slope in zip(found, slopes, strict=True):
                total += slope.detach()
        return dict(zip(names, (array_of(one) for one in found), strict=True))

    def _placed(self, weights: Weights) -> Parameters:
        """Checked weights on the device, where those of the last call still are: a reference is moved once."""
        if self._reference is None or self._reference[0] is not weights:
            self.check(weights, "the weights")
            placed = self.running.placement.weights({name: weights[name] for name in self.network.shapes})
            self._reference = weights, placed
        return self._reference[1]

    def train(
        self,
        examples: Examples,
        count: int,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> Iterator[Checkpoint]:
        """Train on examples; see `Task`."""
        if count != examples.count:
            raise ScoreError(f"task {self.name}: {examples.count:,} examples, {count:,} were announced")
        schedule = schedule_of(count, settings, reference)
        return train(
            lambda: Training(self.network, self.model, self.running, settings, reference, start),
            lambda which: self.running.placement.batch(self.batch(examples.chosen(which))),
            schedule,
            self.running.device,
        )

    def _outputs(self, examples: Examples, say: BatchFunction, columns: int) -> tuple[Floats, ...]:
        """The columns of examples: losses and scores by turns."""
        found = tuple(np.full(examples.count, np.nan) for _ in range(columns))
        for which, batch in self._batches(examples):
            with exclusive_torch(self.running.device):
                said = say(batch)
            for column, values in zip(found, said, strict=True):
                column[which] = values
        return found

    def _batches(self, examples: Examples) -> Iterator[tuple[Indices, Batch]]:
        """The batches of examples on the device. Those of one part of a shard stay there for the next call, if they fit
        into `memory_bytes`: its scores, losses and alignments read the same."""
        if self._inputs is not None and self._inputs[0] is examples:
            yield from self._inputs[1]
            return
        self._inputs = None
        kept: list[tuple[Indices, Batch]] = []
        held = 0
        for which in self.groups(examples):
            some = examples if np.array_equal(which, np.arange(examples.count)) else examples.chosen(which)
            with exclusive_torch(self.running.device):
                batch = self.running.placement.batch(self.batch(some))
            held += sum(part.nbytes for part in batch)
            if held <= self.running.memory_bytes:
                kept.append((which, batch))
            else:
                kept.clear()
            yield which, batch
        if held <= self.running.memory_bytes:
            self._inputs = examples, kept

    def _losses_of(self, parameters: Parameters, batch: Batch) -> Floats:
        import torch

        model = self.model
        if isinstance(model, SampleModel):
            each = model.losses
            return self._numbers_of(batch, lambda part: each(parameters, part))
        embed = model.embed

        def embedded(part: Batch) -> "tuple[Tensor, ...]":
            return embed(parameters, part)

        portions = [one for part in model.parts(batch) for one in self._portions.run(part, embedded, embedded)]
        made = zip(*portions, strict=True)
        with whole_batch(len(batch[0])):
            found = model.losses(parameters, tuple(torch.cat(column) for column in made))
        return _finite(found)

    def _numbers_of(self, batch: Batch, numbers: "Callable[[Batch], Tensor]") -> Floats:
        """A number of each example of a batch, which does not depend on the others; NaN if undefined."""
        import torch

        return _finite(torch.cat(self._portions.run(batch, numbers, numbers)))


class TorchScorers:
    """Scores examples at several weights; implements `winnow.scoring.protocol.Scorers`."""

    def __init__(self, task: TorchTask, each: Sequence[MimicScorer]) -> None:
        self._task, self.each = task, each

    def __call__(self, examples: Examples) -> tuple[Scored, ...]:
        """The losses and scores of examples at each."""
        columns = self._task._outputs(examples, self._said, 2 * len(self.each))
        return tuple(Scored(*pair) for pair in zip(columns[::2], columns[1::2], strict=True))

    def _said(self, batch: Batch) -> list[Floats]:
        found = [scores(batch) for scores in self.each]
        return [column for one in found for column in (one.loss, self._task._certain(one))]


def _finite(numbers: "Tensor") -> Floats:
    said: Floats = numbers.double().cpu().numpy()
    return np.where(np.isfinite(said), said, np.nan)
