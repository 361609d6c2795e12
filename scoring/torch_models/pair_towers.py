"""Two small towers, of images and of texts, into one space, as CLIP's are (arXiv 2103.00020)."""

import math
from typing import TYPE_CHECKING, Final

from winnow.scoring.torch_models.blocks import Parameters, Size, initial_blocks, matrices, through_blocks
from winnow.scoring.torch_models.networks import Network
from winnow.scoring.torch_models.vision import check_patch, initial_tower, shapes_of, tower

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

IMAGE_TOWER: Final = "encode_image"
TEXT_TOWER: Final = "encode_text"
SCALE: Final = "logit_scale"
"""The name of the logarithm of the similarity scale in open implementations."""

_AT_FIRST = 1 / 0.07  # CLIP's


def towers(size: Size, pixels: int, patch: int, vocabulary: int, context: int) -> Network:
    """A network whose first input selects a tower: for pixels, or for tokens with the number of real ones."""
    import torch

    functional = torch.nn.functional
    check_patch(pixels, patch)

    def initial(seed: int) -> Parameters:
        matrix = matrices(seed)
        return {
            **initial_tower("image.", size, pixels, patch, matrix),
            "image.project": matrix(size.width, size.width),
            "text.tokens": matrix(vocabulary, size.width, 0.5),
            "text.places": matrix(context, size.width, 0.5),
            **initial_blocks("text.", size, matrix),
            "text.project": matrix(size.width, size.width),
            SCALE: torch.tensor(math.log(_AT_FIRST)),
        }

    def of_text(parameters: Parameters, tokens: "Tensor", lengths: "Tensor") -> "Tensor":
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        hidden = functional.embedding(tokens, parameters["text.tokens"]) + parameters["text.places"][: tokens.shape[1]]
        said = through_blocks(parameters, "text.", size, hidden, real)
        mean = torch.where(real[:, :, None], said, torch.zeros_like(said)).sum(1) / lengths[:, None]
        return functional.linear(mean, parameters["text.project"])

    def forward(parameters: Parameters, which: str, *inputs: "Tensor") -> "Tensor":
        if which == TEXT_TOWER:
            return of_text(parameters, *inputs)
        said = tower(parameters, "image.", size, patch, *inputs)
        return functional.linear(said, parameters["image.project"])

    return Network(initial, forward, shapes_of(initial(0)))
