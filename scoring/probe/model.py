"""A decoder-only transformer in plain functions: named parameters in, logits out.

Pre-norm, learned positions, GELU, no biases, the output tied to the embedding (GPT-2 without biases). N counts all
parameters except the token and position embeddings, as in the paper; `total_parameters` counts all.

PyTorch is loaded when a function is called: nothing else of winnow needs it.
"""

import math
from typing import TYPE_CHECKING, TypeAlias

from winnow.scoring.probe.grid import Shape

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Parameters: TypeAlias = "dict[str, Tensor]"

_EMBEDDED = 0.5  # relative to other matrices: initially all tokens are about equally likely
_EMBEDDINGS = ("bytes", "places")


def initial_parameters(shape: Shape, vocabulary: int, context: int, seed: int) -> Parameters:
    """Random parameters on the CPU, the same for a seed on every device.

    A matrix preserves the scale of its input (1 / sqrt of its inputs), so that narrow models learn like wide ones;
    those that write into the residual stream shrink with their number, as in GPT-2.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int, factor: float = 1.0) -> "Tensor":
        spread = factor / math.sqrt(columns)
        return torch.empty(rows, columns).normal_(0, spread, generator=generator).requires_grad_()

    def scales() -> "Tensor":
        return torch.ones(shape.width).requires_grad_()

    width, written = shape.width, 1 / math.sqrt(2 * shape.layers)
    made = {"bytes": matrix(vocabulary, width, _EMBEDDED), "places": matrix(context, width, _EMBEDDED)}
    for layer in range(shape.layers):
        made |= {
            f"{layer}.attention.norm": scales(),
            f"{layer}.attention.read": matrix(3 * width, width),
            f"{layer}.attention.write": matrix(width, width, written),
            f"{layer}.mlp.norm": scales(),
            f"{layer}.mlp.read": matrix(4 * width, width),
            f"{layer}.mlp.write": matrix(width, 4 * width, written),
        }
    return made | {"norm": scales()}


def total_parameters(parameters: Parameters) -> int:
    """With embeddings."""
    return sum(one.numel() for one in parameters.values())


def counted_parameters(parameters: Parameters) -> int:
    """N: without embeddings."""
    return sum(one.numel() for name, one in parameters.items() if name not in _EMBEDDINGS)


def logits(parameters: Parameters, shape: Shape, tokens: "Tensor", real: "Tensor | None" = None) -> "Tensor":
    """The next-token logits: sequences × positions × vocabulary.

    With `real`, which says of each position whether it is before its sequence's end, those of these positions alone,
    end to end: nothing but attention is computed for the others.
    """
    import torch

    functional = torch.nn.functional
    sequences, places = tokens.shape
    width = (shape.width,)
    where = None if real is None else real.flatten().nonzero().squeeze(1)

    def packed(each: "Tensor") -> "Tensor":
        return each if where is None else each.flatten(0, 1).index_select(0, where)

    def spread(each: "Tensor") -> "Tensor":
        return each if where is None else each.new_zeros(sequences * places, each.shape[1]).index_copy(0, where, each)

    hidden = packed(functional.embedding(tokens, parameters["bytes"]) + parameters["places"][:places])
    for layer in range(shape.layers):
        normed = functional.layer_norm(hidden, width, parameters[f"{layer}.attention.norm"])
        read = functional.linear(normed, parameters[f"{layer}.attention.read"])
        heads = spread(read).view(sequences, places, 3, shape.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        joined = mixed.transpose(1, 2).reshape(sequences, places, shape.width)
        hidden = hidden + functional.linear(packed(joined), parameters[f"{layer}.attention.write"])
        normed = functional.layer_norm(hidden, width, parameters[f"{layer}.mlp.norm"])
        inner = functional.gelu(functional.linear(normed, parameters[f"{layer}.mlp.read"]), approximate="tanh")
        hidden = hidden + functional.linear(inner, parameters[f"{layer}.mlp.write"])
    return functional.linear(functional.layer_norm(hidden, width, parameters["norm"]), parameters["bytes"])


def mean_loss(parameters: Parameters, shape: Shape, windows: "Tensor") -> "Tensor":
    """The mean loss over all positions of windows of `context + 1` tokens, in nats per token."""
    import torch

    said = logits(parameters, shape, windows[:, :-1])
    return torch.nn.functional.cross_entropy(said.flatten(0, 1), windows[:, 1:].flatten())
