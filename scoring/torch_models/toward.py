"""The unit direction from weights towards a reference, on their device.

As `scoring.mimic.direction`, which computes the same of arrays: to the last bit on a CPU. Of all weights only a few
numbers, such as the norm, reach the host.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from winnow.scoring.mimic.direction import direction
from winnow.scoring.torch_models.networks import Parameters
from winnow.scoring.torch_models.weights import array_of

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]


def unit_towards(at: Parameters, reference: Parameters, names: Sequence[str]) -> Parameters:
    """The unit direction over the named parameters, in the type of the weights.

    Raises:
        ScoreError: Weights are equal, or not finite.
    """
    import torch

    steps = {name: reference[name].detach().double() - at[name].detach().double() for name in names}
    highest = [step.abs().max() for step in steps.values() if step.numel()]
    largest = float(torch.stack(highest).max()) if highest else 0.0
    norm = math.nan
    if 0 < largest < math.inf:
        norm = largest * math.sqrt(math.fsum(_sums([(step / largest).square() for step in steps.values()])))
    if not 0 < norm < math.inf:
        ours, theirs = ({name: array_of(of[name]) for name in names} for of in (at, reference))
        direction(ours, theirs, names)  # says why
    return {name: (step / norm).to(at[name].dtype) for name, step in steps.items()}


def _sums(squares: "list[Tensor]") -> list[float]:
    """The sum of each; NumPy's order of additions where the numbers are on the host already."""
    import torch

    if squares[0].device.type == "cpu":
        return [float(one.numpy().sum()) for one in squares]
    found: list[float] = torch.stack([one.sum() for one in squares]).tolist()
    return found
