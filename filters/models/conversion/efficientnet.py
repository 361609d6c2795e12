"""Write EfficientNet-lite0 as an ONNX file of its features from the published weights, without PyTorch.

Norms are folded into the convolutions before them, so values differ from PyTorch's in the last digits.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.conversion.torch_files import read_arrays
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.schemas.efficientnet import EPSILON, NORMED, POOLED, SIDE, WEIGHTS, blocks, padding, shapes
from winnow.schemas.errors import WinnowError

Arrays = Mapping[str, NDArray[np.generic]]


def make(sources: Mapping[str, Path], target: Path) -> None:
    """Write the network's file."""
    arrays = read_arrays(sources[WEIGHTS.name])
    wrong = [name for name, shape in shapes().items() if name not in arrays or arrays[name].shape != shape]
    if wrong:
        raise WinnowError(f"{WEIGHTS.name}: no array {wrong[0]} of the network's shape")
    target.write_bytes(features_file(arrays))


def features_file(arrays: Arrays) -> bytes:
    """An ONNX file: images × 3 × 224 × 224 → images × 1,280, the mean over positions that the classifier reads."""
    network = _Network(arrays)
    hidden = network.graph.input("pixels", ("n", 3, SIDE, SIDE))
    hidden = network.capped(network.convolved(hidden, "_conv_stem", "_bn0", 3, 2))
    for block in blocks():
        at, before = block.name, hidden
        if block.inner != block.read:
            hidden = network.capped(network.convolved(hidden, f"{at}_expand_conv", f"{at}_bn0"))
        depthwise = network.convolved(
            hidden, f"{at}_depthwise_conv", f"{at}_bn1", block.kernel, block.stride, block.inner
        )
        hidden = network.convolved(network.capped(depthwise), f"{at}_project_conv", f"{at}_bn2")
        if block.stride == 1 and block.read == block.written:
            hidden = network.graph.node("Add", hidden, before)
    hidden = network.capped(network.convolved(hidden, "_conv_head", "_bn1"))
    pooled = network.graph.node("GlobalAveragePool", hidden)
    network.graph.output(network.graph.node("Flatten", pooled, name="features", axis=1), ("n", POOLED))
    return network.graph.to_bytes()


class _Network:
    """The graph under construction, and the side of the next layer's input."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._side = SIDE
        self.graph = OnnxGraph("efficientnet-lite0")
        self._limits = [
            self.graph.constant(name, np.array(value, np.float32)) for name, value in (("zero", 0), ("six", 6))
        ]

    def convolved(self, hidden: str, name: str, norm: str, kernel: int = 1, stride: int = 1, groups: int = 1) -> str:
        """A convolution with its norm folded in."""
        weights = np.asarray(self._arrays[f"{name}.weight"], np.float64)
        scale, shift, mean, variance = (np.asarray(self._arrays[f"{norm}.{part}"], np.float64) for part in NORMED)
        factor = scale / np.sqrt(variance + EPSILON)
        folded = (weights * factor[:, None, None, None]).astype(np.float32)
        bias = (shift - mean * factor).astype(np.float32)
        before, after = padding(kernel, stride, self._side)
        self._side = -(-self._side // stride)
        return self.graph.node(
            "Conv",
            hidden,
            self.graph.constant(f"{name}.weight", folded),
            self.graph.constant(f"{name}.bias", bias),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=groups,
        )

    def capped(self, hidden: str) -> str:
        """Values clipped to 0 to 6."""
        return self.graph.node("Clip", hidden, *self._limits)
