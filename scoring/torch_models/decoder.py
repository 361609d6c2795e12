"""The probe's decoder as a network: a causal language model over bytes or tokens."""

from typing import TYPE_CHECKING

from winnow.scoring.probe.grid import Shape
from winnow.scoring.probe.model import Parameters, initial_parameters, logits
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.networks import Network
from winnow.scoring.torch_models.vision import shapes_of

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]


def decoder(size: Size, vocabulary: int, context: int) -> Network:
    """A network that predicts the next token at each position."""
    shape = Shape(layers=size.layers, width=size.width, heads=size.heads)

    def initial(seed: int) -> Parameters:
        return {name: value.detach() for name, value in initial_parameters(shape, vocabulary, context, seed).items()}

    def forward(parameters: Parameters, tokens: "Tensor") -> "Tensor":
        return logits(parameters, shape, tokens)

    return Network(initial, forward, shapes_of(initial(0)))
