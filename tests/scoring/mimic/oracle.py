"""The score by its definition, a pass back for each sample, and the scorer's answer for a specimen."""

from typing import Any

import numpy as np

from tests.scoring.mimic.zoo import Specimen
from winnow.scoring.mimic.direction import Direction, chosen_parameters, direction
from winnow.scoring.mimic.exact import BatchScores, MimicScorer, MimicSettings
from winnow.scoring.mimic.models import BatchModel, Placement, Precision
from winnow.scoring.protocol import Floats

_BUFFERS = ("1.running_mean", "1.running_var")


def towards(of: Specimen, globs: tuple[str, ...] = ("*",)) -> Direction:
    """The direction over the parameters that globs choose."""
    names = [name for name in of.at if name not in _BUFFERS]
    return direction(of.at, of.reference, chosen_parameters(names, globs))


def scored(of: Specimen, globs: tuple[str, ...] = ("*",), **settings: Any) -> BatchScores:
    """What the scorer says."""
    return MimicScorer(of.model, of.at, towards(of, globs), MimicSettings(**settings))(of.batch)


def by_gradients(
    of: Specimen, globs: tuple[str, ...] = ("*",), precision: Precision = "float64"
) -> tuple[Floats, Floats]:
    """Losses and scores by a pass back through the plain model for each sample: nothing of the scorer's."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    place = Placement(precision=precision)
    weights, unit, batch = place.weights(of.at), place.weights(towards(of, globs).unit), place.batch(of.batch)
    leaves = {name: weights[name].requires_grad_() for name in unit}
    model = of.model
    losses = model.whole(weights, batch) if isinstance(model, BatchModel) else model.losses(weights, batch)
    found = []
    for loss in losses:
        gradients = torch.autograd.grad(loss, list(leaves.values()), retain_graph=True, materialize_grads=True)
        found.append(-sum(float((g.double() * unit[n].double()).sum()) for n, g in zip(leaves, gradients, strict=True)))
    return losses.detach().double().numpy(), np.array(found)


def apart(ours: Floats, theirs: Floats) -> float:
    """The largest difference, of the largest value."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())
