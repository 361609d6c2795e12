"""The linear layers of a head, among the arrays of a safetensors file as PyTorch names them."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.tensors import Array
from winnow.schemas.errors import RecipeError

Layer: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The weights, of shape [outputs, inputs], and the bias."""

_LAYER = re.compile(r"(?:.*\.)?(\d+)\.weight|weight")
_LINEAR = "expected linear layers: `weight` of shape [outputs, inputs] and `bias`"


def linear_layers(arrays: Mapping[str, Array], path: str) -> list[Layer]:
    """The layers in order: `weight` and `bias`, or `0.weight`, `0.bias`, `2.weight` … as in PyTorch.

    Raises:
        RecipeError: There is something else among the arrays.
    """
    numbered = {name: match for name in arrays if (match := _LAYER.fullmatch(name))}
    names = sorted(numbered, key=lambda name: int(numbered[name][1] or 0))
    layers = []
    for name in names:
        weights = np.asarray(arrays[name], np.float64)
        bias = np.asarray(arrays.get(name.removesuffix("weight") + "bias", np.zeros(weights.shape[0])), np.float64)
        if weights.ndim != 2 or bias.shape != weights.shape[:1]:
            raise RecipeError(f"{path}: {name} is {list(weights.shape)} with a bias of {list(bias.shape)}; {_LINEAR}")
        layers.append((weights, bias))
    used = set(names) | {name.removesuffix("weight") + "bias" for name in names}
    if not layers or (others := sorted(arrays.keys() - used)):
        raise RecipeError(f"{path}: {f'an array {others[0][:80]!r}' if layers else 'no layers'}; {_LINEAR}")
    for (first, _), (second, _) in pairwise(layers):
        if second.shape[1] != first.shape[0]:
            raise RecipeError(f"{path}: a layer gives {first.shape[0]} numbers, the next reads {second.shape[1]}")
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise RecipeError(f"{path}: weights that are not finite; train or fetch it again")
    return layers
