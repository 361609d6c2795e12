"""The score by differences of losses, for models with operators without a forward derivative.

Central differences along the unit direction at ever smaller steps, extrapolated to zero by Ridders' tableau (Advances
in Engineering Software 4, 1982): each sample takes the entry whose neighbours agree best; their disagreement, or
rounding, is its error. Losses are computed in float64 if the model can.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.scoring.mimic.memory import BatchPortions, whole_batch
from winnow.scoring.mimic.models import Batch, Model, Parameters, Placement, SampleModel

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

_FIRST = 1e-2  # the longest step, relative to the norm of the chosen weights
_SHRINK = {"float64": 6.0, "float32": 3.0, "bfloat16": 1.5}  # from a step to the next
_STEPS = 6


@dataclass(frozen=True, slots=True)
class Difference:
    """The derivative of each sample's loss, and its possible error."""

    loss: "Tensor"
    slope: "Tensor"
    error: "Tensor"


def difference(
    model: Model, weights: Parameters, unit: Parameters, batch: Batch, portions: BatchPortions
) -> Difference:
    """The derivative of losses along the unit direction, by differences.

    Args:
        model: Its losses as a function of weights.
        weights: All its weights.
        unit: The direction, over the chosen weights.
        batch: The samples to score.
        portions: How a batch is split.
    """
    try:
        wide = Placement(str(batch[0].device), "float64")
        weights64, unit64 = ({name: wide.tensor(one) for name, one in many.items()} for many in (weights, unit))
        return _ridders(model, weights64, unit64, wide.batch(batch), portions)
    except (NotImplementedError, RuntimeError) as error:
        if "Double" not in str(error) and "dtype" not in str(error):
            raise
    return _ridders(model, weights, unit, batch, portions)


def _ridders(model: Model, weights: Parameters, unit: Parameters, batch: Batch, portions: BatchPortions) -> Difference:
    import torch

    precision = str(next(iter(unit.values())).dtype).removeprefix("torch.")
    shrink, epsilon = _SHRINK[precision], torch.finfo(next(iter(unit.values())).dtype).eps
    loss = _losses(model, weights, batch, portions)
    length = sum(float(weights[name].double().square().sum()) for name in unit) ** 0.5
    step = _FIRST * (length or 1.0)
    best = torch.full_like(loss, torch.nan)
    error = torch.full_like(loss, torch.inf)
    above: list[Tensor] = []
    for row in range(_STEPS):
        ahead, behind = (_losses(model, _moved(weights, unit, sign * step), batch, portions) for sign in (1.0, -1.0))
        entries = [(ahead - behind) / (2 * step)]
        rounding = epsilon * torch.maximum(ahead.abs(), behind.abs()) / step
        power = 1.0
        for column in range(row):
            power *= shrink * shrink
            entries.append((entries[column] * power - above[column]) / (power - 1))
            apart = torch.maximum((entries[-1] - entries[-2]).abs(), (entries[-1] - above[column]).abs()) + rounding
            closer = apart < error
            best, error = torch.where(closer, entries[-1], best), torch.where(closer, apart, error)
        above = entries
        step /= shrink
    return Difference(loss, best, error)


def _moved(weights: Parameters, unit: Parameters, step: float) -> Parameters:
    """The weights after a step, without another copy of the unchanged ones."""
    import torch

    return {**weights, **{name: torch.add(weights[name], one, alpha=step) for name, one in unit.items()}}


def _losses(model: Model, weights: Parameters, batch: Batch, portions: BatchPortions) -> "Tensor":
    """In float64 from here on."""
    import torch

    if isinstance(model, SampleModel):
        alone = model.losses
        parts = portions.run(batch, lambda part: alone(weights, part), lambda part: alone(weights, part))
        return torch.cat(parts).double()
    embed = model.embed
    made = [
        one
        for some in model.parts(batch)
        for one in portions.run(some, lambda part: embed(weights, part), lambda part: embed(weights, part))
    ]
    with whole_batch(len(batch[0])):
        return model.losses(weights, tuple(torch.cat(column) for column in zip(*made, strict=True))).double()
