"""Small networks from pixels to numbers: three convolutions, and a vision transformer over patches."""

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.blocks import Matrix, Parameters, Size, initial_blocks, matrices, through_blocks
from winnow.scoring.torch_models.networks import Network

if TYPE_CHECKING:
    from torch import Tensor, dtype  # type: ignore[import-not-found, unused-ignore]

_COLOURS = 3
_KERNEL = 3


def convolutions(width: int, outputs: int) -> Network:
    """Three convolutions, each of half the resolution and more features, their mean, and a linear head."""
    import torch

    functional = torch.nn.functional
    features = (_COLOURS, width, 2 * width, 4 * width)

    def initial(seed: int) -> Parameters:
        matrix, made = matrices(seed), {}
        for layer, (read, written) in enumerate(pairwise(features)):
            flat = matrix(written, read * _KERNEL**2, math.sqrt(2))  # as ReLU drops half of its input
            made[f"{layer}.weight"] = flat.view(written, read, _KERNEL, _KERNEL)
            made[f"{layer}.bias"] = torch.zeros(written)
        return made | {"head.weight": matrix(outputs, features[-1]), "head.bias": torch.zeros(outputs)}

    def forward(parameters: Parameters, pixels: "Tensor") -> "Tensor":
        hidden = pixels
        for layer in range(len(features) - 1):
            weight, bias = parameters[f"{layer}.weight"], parameters[f"{layer}.bias"]
            hidden = functional.relu(functional.conv2d(hidden, weight, bias, stride=2, padding=1))
        return functional.linear(hidden.mean((2, 3)), parameters["head.weight"], parameters["head.bias"])

    return Network(initial, forward, shapes_of(initial(0)))


def patches(size: Size, pixels: int, patch: int, outputs: int) -> Network:
    """A vision transformer: patches, places, blocks, their mean, and a linear head."""
    check_patch(pixels, patch)

    def initial(seed: int) -> Parameters:
        import torch

        matrix = matrices(seed)
        tower = initial_tower("", size, pixels, patch, matrix)
        return tower | {"head.weight": matrix(outputs, size.width), "head.bias": torch.zeros(outputs)}

    def forward(parameters: Parameters, given: "Tensor") -> "Tensor":
        import torch

        mean = tower(parameters, "", size, patch, given)
        return torch.nn.functional.linear(mean, parameters["head.weight"], parameters["head.bias"])

    return Network(initial, forward, shapes_of(initial(0)))


def check_patch(pixels: int, patch: int) -> None:
    """Raise ScoreError if images do not consist of whole patches."""
    if pixels % patch:
        raise ScoreError(f"`size`: {pixels} is no multiple of patch {patch}; expected a size of whole patches")


def initial_tower(prefix: str, size: Size, pixels: int, patch: int, matrix: Matrix) -> Parameters:
    """The arrays of a vision transformer without its head."""
    places = (pixels // patch) ** 2
    return {
        f"{prefix}patches": matrix(size.width, _COLOURS * patch**2),
        f"{prefix}places": matrix(places, size.width, 0.5),
        **initial_blocks(prefix, size, matrix),
    }


def tower(parameters: Parameters, prefix: str, size: Size, patch: int, pixels: "Tensor") -> "Tensor":
    """Examples × width: the mean of the blocks' outputs over patches."""
    import torch

    functional = torch.nn.functional
    examples, colours, side, _ = pixels.shape
    grid = pixels.view(examples, colours, side // patch, patch, side // patch, patch)
    cut = grid.permute(0, 2, 4, 1, 3, 5).reshape(examples, (side // patch) ** 2, colours * patch**2)
    hidden = functional.linear(cut, parameters[f"{prefix}patches"]) + parameters[f"{prefix}places"]
    return through_blocks(parameters, prefix, size, hidden).mean(1)


def shapes_of(parameters: Parameters) -> dict[str, tuple[int, ...]]:
    """The shape of every array."""
    return {name: tuple(value.shape) for name, value in parameters.items()}


Colours: TypeAlias = float | tuple[float, ...]
"""A number for all colours, or one for each of red, green and blue."""


def normalised(pixels: "Tensor", mean: Colours, deviation: Colours, kind: "dtype") -> "Tensor":
    """Examples × height × width × colours of bytes → examples × colours × height × width of numbers.

    In the order of torchvision's `ToTensor` and `Normalize`, to the last bit.
    """
    shares = pixels.permute(0, 3, 1, 2).float() / 255
    return ((shares - _each(mean, pixels)) / _each(deviation, pixels)).to(kind)


def _each(colours: Colours, pixels: "Tensor") -> "Tensor | float":
    if isinstance(colours, float) or len(colours) == 1:
        return colours if isinstance(colours, float) else colours[0]
    return _on_device(colours, str(pixels.device))


@lru_cache(maxsize=16)
def _on_device(colours: tuple[float, ...], device: str) -> "Tensor":
    """A number for each colour, moved to the device once."""
    import torch

    return torch.tensor(colours, dtype=torch.float32, device=device)[:, None, None]


def no_image(size: int, device: str) -> "Tensor":
    """A black image for testing a network."""
    import torch

    return torch.zeros(1, size, size, _COLOURS, dtype=torch.uint8, device=device)
