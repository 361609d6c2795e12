"""The Mimic score of a batch as one forward derivative of its losses along the unit direction.

The directional derivative of all losses at once is m = -d loss(θ + t v/|v|) / dt at t = 0: no gradient of a sample is
computed, so memory does not grow with the size of such gradients. Models with operators without a forward derivative
are scored by differences, and the result says so.

Values do not depend on how a batch is split into portions, within `TOLERANCE` of the largest score of the batch.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.determinism import deterministic, need_torch
from winnow.scoring.mimic.differences import difference
from winnow.scoring.mimic.direction import Direction
from winnow.scoring.mimic.gradients import gradient_norms
from winnow.scoring.mimic.memory import BatchPortions, whole_batch
from winnow.scoring.mimic.models import Batch, BatchModel, Model, Parameters, Placement, Precision, SampleModel
from winnow.scoring.mimic.rules import forward_rules
from winnow.scoring.protocol import Floats, Weights

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Value = TypeVar("Value")
"""A model's output tensors."""

Means: TypeAlias = Literal["forward", "differences"]
"""How a score was computed: by the exact derivative, or by differences of losses."""

TOLERANCE: Mapping[Precision, float] = {"float64": 1e-10, "float32": 1e-5, "bfloat16": 5e-2}
"""The tolerance of scores, relative to the largest score of a batch."""

_NO_FORWARD = ("forward AD", "forward mode AD", "forward grad", "functorch transforms")


@dataclass(frozen=True, slots=True)
class MimicSettings:
    """How scores are computed."""

    placement: Placement = field(default_factory=Placement)
    means: Means | None = None  # None: the exact derivative if the model has one
    max_bytes: int = 256 << 20  # of intermediate tensors at a time; weights and the batch come on top
    threads: int = 1  # with another number the last bits differ
    cosine: bool = False  # also divide by the norm of the sample's gradient, which takes one gradient per sample


@dataclass(frozen=True, slots=True)
class BatchScores:
    """The results for a batch, one value per sample; NaN where the loss or score is undefined."""

    loss: Floats
    score: Floats
    error: Floats  # an estimate of the score's; 0 where the derivative is exact
    means: Means


class MimicScorer:
    """Scores batches at given weights in one direction. Weights are moved to the device once.

    Args:
        model: Its losses as a function of weights.
        at: All the model's weights by name, including those that are not chosen.
        towards: The direction, over the chosen parameters.
        settings: How scores are computed.

    Raises:
        ScoreError: PyTorch is missing.
    """

    def __init__(
        self, model: Model, at: Weights, towards: Direction, settings: MimicSettings = MimicSettings()
    ) -> None:
        need_torch()
        self.model, self.settings = model, settings
        place = settings.placement
        self.weights = place.weights(at)
        self.unit = place.weights(towards.unit)
        self._portions, self._gradient_portions = (BatchPortions(settings.max_bytes) for _ in range(2))
        self._means: Means = settings.means or "forward"
        self._companions: list[Any] = []  # the embeddings of the model's companions, and their derivatives

    def along(self, towards: Direction) -> "MimicScorer":
        """A scorer at the same weights, which stay where they are, in another direction."""
        other = copy.copy(self)
        other.unit = self.settings.placement.weights(towards.unit)
        other._companions = []
        return other

    def __call__(self, batch: Batch) -> BatchScores:
        """The losses and scores of a batch, in its order.

        Raises:
            ScoreError: The model has no forward derivative but only that was requested, or a single sample does not fit
                into memory.
        """
        with deterministic(self.settings.threads):
            batch = self.settings.placement.batch(batch)
            said = self._forward_or_differences(batch)
            return _cosine(said, self._norms(batch)) if self.settings.cosine else said

    def gradient_norms(self, batch: Batch) -> Floats:
        """The norm of each sample's gradient over the chosen parameters."""
        with deterministic(self.settings.threads):
            return self._norms(self.settings.placement.batch(batch))

    def _norms(self, batch: Batch) -> Floats:
        return _floats(gradient_norms(self.model, self.weights, tuple(self.unit), batch, self._gradient_portions))

    def _forward_or_differences(self, batch: Batch) -> BatchScores:
        if self._means == "forward":
            try:
                return self._forward(batch)
            except (NotImplementedError, RuntimeError) as error:
                if not lacks_forward(error):
                    raise
                if self.settings.means == "forward":
                    why = str(error).splitlines()[0]
                    raise ScoreError(
                        f"the model has no forward derivative: {why}; score it by `differences`"
                    ) from error
                self._means = "differences"
        return self._differences(batch)

    def _forward(self, batch: Batch) -> BatchScores:
        """-jvp(losses, θ, unit)."""
        model = self.model
        if isinstance(model, SampleModel):
            alone = model.losses

            def call(part: Batch) -> "tuple[Tensor, Tensor]":
                return derivative(lambda weights: alone(weights, part), self.weights, self.unit)

            parts = self._portions.run(batch, call, call)
            loss, slope = (_joined(column) for column in zip(*parts, strict=True))
        else:
            loss, slope = self._forward_batch_model(model, batch)
        return _said(loss, slope, slope.new_zeros(slope.shape), "forward")

    def _forward_batch_model(self, model: BatchModel, batch: Batch) -> "tuple[Tensor, Tensor]":
        """Embeddings and their derivatives are computed portion by portion; losses take all of them."""

        def call(part: Batch) -> "tuple[tuple[Tensor, ...], tuple[Tensor, ...]]":
            return derivative(lambda weights: model.embed(weights, part), self.weights, self.unit)

        if model.companions is not None and not self._companions:
            self._companions = self._portions.run(model.companions, call, call)
        parts = [*self._companions, *self._portions.run(batch, call, call)]
        with whole_batch(len(batch[0])):
            return contrasted(model, self.weights, self.unit, parts)

    def _differences(self, batch: Batch) -> BatchScores:
        found = difference(self.model, self.weights, self.unit, batch, self._portions)
        return _said(found.loss, found.slope, found.error, "differences")


def derivative(call: "Callable[[Parameters], Value]", weights: Parameters, unit: Parameters) -> "tuple[Value, Value]":
    """A function's value at given weights, and its derivative along the unit direction; other weights are constant.

    This is `torch.func.jvp` without its wrappers around each tensor, which dominate the time of small models.
    """
    from torch.autograd.forward_ad import dual_level, make_dual  # type: ignore[import-not-found, unused-ignore]

    with dual_level():
        moving = {name: make_dual(weights[name], step) for name, step in unit.items()}
        with forward_rules():
            said = call({**weights, **moving})
        if not isinstance(said, tuple):
            return _unpacked(said)
        return cast("tuple[Value, Value]", tuple(zip(*(_unpacked(one) for one in said), strict=True)))


def contrasted(
    model: BatchModel,
    weights: Parameters,
    unit: Parameters,
    parts: "Sequence[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]]",
) -> "tuple[Tensor, Tensor]":
    """The losses of a batch and their derivatives, from the embeddings of its parts and their derivatives."""
    from torch.func import jvp  # type: ignore[import-not-found, unused-ignore]

    made = tuple(_joined(column) for column in zip(*(values for values, _ in parts), strict=True))
    moved = tuple(_joined(column) for column in zip(*(slopes for _, slopes in parts), strict=True))
    chosen = {name: weights[name] for name in unit}

    def losses(changed: Parameters, embedded: "tuple[Tensor, ...]") -> "Tensor":
        return model.losses({**weights, **changed}, embedded)

    found: tuple[Tensor, Tensor] = jvp(losses, (chosen, made), (unit, moved))
    return found


def _unpacked(said: "Tensor") -> "tuple[Tensor, Tensor]":
    """A value and its derivative, which is zero if it does not depend on the direction."""
    import torch
    from torch.autograd.forward_ad import unpack_dual

    value, step = unpack_dual(said)
    return value, torch.zeros_like(value) if step is None else step


def lacks_forward(error: BaseException) -> bool:
    """Whether an error says that an operator has no forward derivative."""
    return isinstance(error, NotImplementedError | RuntimeError) and any(said in str(error) for said in _NO_FORWARD)


def _joined(parts: "tuple[Tensor, ...]") -> "Tensor":
    import torch

    return torch.cat(parts)


def _cosine(said: BatchScores, norms: Floats) -> BatchScores:
    """Divide by gradient norms; a zero gradient has no direction, so its score is NaN."""
    norms = np.where(norms > 0, norms, np.nan)
    return BatchScores(said.loss, said.score / norms, said.error / norms, said.means)


def _said(loss: "Tensor", slope: "Tensor", error: "Tensor", means: Means) -> BatchScores:
    losses, scores, errors = (_floats(one) for one in (loss, -slope, error))
    bad = ~(np.isfinite(losses) & np.isfinite(scores))
    for column in (losses, scores, errors):
        column[bad] = np.nan
    return BatchScores(losses, scores, errors, means)


def _floats(values: "Tensor") -> Floats:
    found: Floats = values.double().cpu().numpy().copy()
    return found
