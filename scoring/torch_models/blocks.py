"""Bidirectional pre-norm transformer blocks, as functions over named arrays, as in the probe."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from winnow.schemas.recipe.checks import Between

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Parameters: TypeAlias = "dict[str, Tensor]"

Matrix: TypeAlias = "Callable[..., Tensor]"
"""(rows, columns, factor = 1) → a random matrix that preserves the scale of its input."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a built-in network."""

    width: Annotated[int, Between(4, 8_192)] = 64  # winnow's: a small one
    layers: Annotated[int, Between(1, 100)] = 2  # winnow's
    heads: Annotated[int, Between(1, 128)] = 2  # winnow's

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")


def matrices(seed: int) -> Matrix:
    """Random matrices, the same for a seed on every machine."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int, factor: float = 1.0) -> "Tensor":
        return torch.empty(rows, columns).normal_(0, factor / math.sqrt(columns), generator=generator)

    return matrix


def initial_blocks(prefix: str, size: Size, matrix: Matrix) -> Parameters:
    """The arrays of the blocks and of the final norm."""
    import torch

    width, written = size.width, 1 / math.sqrt(2 * size.layers)
    made: Parameters = {}
    for layer in range(size.layers):
        made |= {
            f"{prefix}{layer}.attention.norm": torch.ones(width),
            f"{prefix}{layer}.attention.read": matrix(3 * width, width),
            f"{prefix}{layer}.attention.write": matrix(width, width, written),
            f"{prefix}{layer}.mlp.norm": torch.ones(width),
            f"{prefix}{layer}.mlp.read": matrix(4 * width, width),
            f"{prefix}{layer}.mlp.write": matrix(width, 4 * width, written),
        }
    return made | {f"{prefix}norm": torch.ones(width)}


def through_blocks(
    parameters: Parameters, prefix: str, size: Size, hidden: "Tensor", real: "Tensor | None" = None
) -> "Tensor":
    """Examples × positions × width, normalised; positions that are not `real` get no attention."""
    import torch

    functional = torch.nn.functional
    examples, places, width = hidden.shape
    mask = None if real is None else real[:, None, None, :]
    for layer in range(size.layers):
        at = f"{prefix}{layer}"
        normed = functional.layer_norm(hidden, (width,), parameters[f"{at}.attention.norm"])
        read = functional.linear(normed, parameters[f"{at}.attention.read"])
        heads = read.view(examples, places, 3, size.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        joined = mixed.transpose(1, 2).reshape(examples, places, width)
        hidden = hidden + functional.linear(joined, parameters[f"{at}.attention.write"])
        normed = functional.layer_norm(hidden, (width,), parameters[f"{at}.mlp.norm"])
        inner = functional.gelu(functional.linear(normed, parameters[f"{at}.mlp.read"]), approximate="tanh")
        hidden = hidden + functional.linear(inner, parameters[f"{at}.mlp.write"])
    return functional.layer_norm(hidden, (width,), parameters[f"{prefix}norm"])
