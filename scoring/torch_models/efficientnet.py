"""EfficientNet-lite0 in PyTorch: pixels to 1,000 classes of ImageNet, and the features that they are made of.

Batch norm uses the statistics of training, so an image's results depend only on that image.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from winnow.schemas.efficientnet import (
    CLASSES,
    DEVIATION,
    EPSILON,
    MEAN,
    NORMED,
    POOLED,
    SIDE,
    WEIGHTS,
    blocks,
    padding,
    shapes,
)

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

__all__ = ["CLASSES", "DEVIATION", "MEAN", "POOLED", "SIDE", "WEIGHTS", "classified", "pooled", "shapes"]


def classified(parameters: "Mapping[str, Tensor]", pixels: "Tensor", prefix: str = "") -> "Tensor":
    """Images × 3 × height × width → images × classes, before the softmax."""
    from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

    hidden = pooled(parameters, pixels, prefix)
    return functional.linear(hidden, parameters[f"{prefix}_fc.weight"], parameters[f"{prefix}_fc.bias"])


def pooled(parameters: "Mapping[str, Tensor]", pixels: "Tensor", prefix: str = "") -> "Tensor":
    """Images × 3 × height × width → images × 1,280, the features of the classifier: the mean over positions."""
    from torch.nn import functional

    def normed(hidden: "Tensor", name: str) -> "Tensor":
        weight, bias, mean, variance = (parameters[f"{prefix}{name}.{part}"] for part in NORMED)
        return functional.batch_norm(hidden, mean, variance, weight, bias, eps=EPSILON)

    def convolved(hidden: "Tensor", name: str, stride: int = 1, groups: int = 1) -> "Tensor":
        weight = parameters[f"{prefix}{name}.weight"]
        return functional.conv2d(_padded(hidden, weight.shape[-1], stride), weight, stride=stride, groups=groups)

    hidden = functional.relu6(normed(convolved(pixels, "_conv_stem", 2), "_bn0"))
    for block in blocks():
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

    around = [*padding(kernel, stride, hidden.shape[3]), *padding(kernel, stride, hidden.shape[2])]
    return functional.pad(hidden, around) if any(around) else hidden
