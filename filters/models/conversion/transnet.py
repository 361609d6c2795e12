"""Write TransNet V2 as an ONNX file from the published weights, without PyTorch.

Its convolutions over three dimensions are written as two of two dimensions each, as they are in the network itself:
within frames, the four rates of dilation at once, and over time. Norms are folded into the latter, so values differ
from PyTorch's in the last digits.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.conversion.torch_files import read_arrays
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.transnet import BINS, COLUMNS, FRAMES, LEAST, ROWS
from winnow.schemas.errors import WinnowError

WEIGHTS: Final = "transnet-v2.weights"

_FILTERS: Final = (16, 32, 64)
_RATES: Final = (1, 2, 4, 8)
_LOOKUP: Final = 101  # frames that each is compared with
_EPSILON: Final = 1e-3

Arrays = Mapping[str, NDArray[np.generic]]


def make(sources: Mapping[str, Path], target: Path) -> None:
    """Write the network's file."""
    arrays = read_arrays(sources[WEIGHTS])
    try:
        content = _Network(arrays).to_bytes()
    except (KeyError, ValueError) as error:
        raise WinnowError(f"{WEIGHTS}: not the network's arrays: {error}") from None
    target.write_bytes(content)


class _Network:
    """The graph under construction: values are frames × channels × rows × columns between convolutions."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._graph = OnnxGraph("transnet-v2")
        self._shapes = 0

    def to_bytes(self) -> bytes:
        """The file."""
        graph = self._graph
        hidden = graph.input("frames", (FRAMES, 3, ROWS, COLUMNS))
        colours = graph.input("histograms", (FRAMES, BINS))
        rows, columns, means = ROWS, COLUMNS, []
        for number, filters in enumerate(_FILTERS):
            first = graph.node("Relu", self._convolved(hidden, f"SDDCNN.{number}.DDCNN.0", filters, rows, columns))
            second = graph.node("Relu", self._convolved(first, f"SDDCNN.{number}.DDCNN.1", filters, rows, columns))
            added = graph.node("Add", second, first)
            hidden = graph.node("AveragePool", added, kernel_shape=[2, 2], strides=[2, 2])
            rows, columns = rows // 2, columns // 2
            means.append(graph.node("ReduceMean", hidden, axes=[2, 3], keepdims=0))
        flat = self._reshaped(graph.node("Transpose", hidden, perm=[0, 2, 3, 1]), (FRAMES, -1))
        projected = self._linear(graph.node("Concat", *means, axis=1), "frame_sim_layer.projection")
        length = graph.node("ReduceL2", projected, axes=[1], keepdims=1)
        least = graph.constant("least", np.array(LEAST, np.float32))
        unit = graph.node("Div", projected, graph.node("Max", length, least))
        alike = [self._compared(colours, "color_hist_layer.fc"), self._compared(unit, "frame_sim_layer.fc")]
        hidden = graph.node("Relu", self._linear(graph.node("Concat", *alike, flat, axis=1), "fc1"))
        for name, layer in (("ends", "cls_layer1"), ("within", "cls_layer2")):
            graph.output(graph.node("Sigmoid", self._linear(hidden, layer), name=name), (FRAMES, 1))
        return graph.to_bytes()

    def _convolved(self, hidden: str, name: str, filters: int, rows: int, columns: int) -> str:
        """A convolution within frames, then over time at four rates, with its norm folded in."""
        graph, inner = self._graph, 2 * filters
        parts = [f"{name}.Conv3D_{rate}.layers" for rate in _RATES]
        within = np.concatenate([self._array(f"{part}.0.weight")[:, :, 0] for part in parts])
        if name == "SDDCNN.0.DDCNN.0":
            within = within / 255  # of levels
        seen = graph.node("Conv", hidden, self._constant(f"{name}.within", within), pads=[1, 1, 1, 1])
        seen = self._reshaped(seen, (FRAMES, len(_RATES) * inner, rows * columns))
        seen = self._reshaped(graph.node("Transpose", seen, perm=[1, 0, 2]), (1, -1, FRAMES, rows * columns))
        scale = self._array(f"{name}.bn.weight") / np.sqrt(self._array(f"{name}.bn.running_var") + _EPSILON)
        shift = self._array(f"{name}.bn.bias") - self._array(f"{name}.bn.running_mean") * scale
        found = []
        for at, (rate, part) in enumerate(zip(_RATES, parts, strict=True)):
            mine = slice(at * filters, (at + 1) * filters)
            weights = self._array(f"{part}.1.weight")[:, :, :, 0] * scale[mine, None, None, None]
            begin, end, axis = (
                graph.constant(f"{part}.{what}", np.array([value], np.int64))
                for what, value in (("begin", at * inner), ("end", (at + 1) * inner), ("axis", 1))
            )
            found.append(
                graph.node(
                    "Conv",
                    graph.node("Slice", seen, begin, end, axis),
                    self._constant(f"{part}.over", weights),
                    self._constant(f"{part}.shift", shift[mine]),
                    dilations=[rate, 1],
                    pads=[rate, 0, rate, 0],
                )
            )
        joined = graph.node("Concat", *found, axis=1)
        turned = graph.node("Transpose", self._reshaped(joined, (-1, FRAMES, rows * columns)), perm=[1, 0, 2])
        return self._reshaped(turned, (FRAMES, -1, rows, columns))

    def _compared(self, vectors: str, name: str) -> str:
        """The layer over the products of each frame's vector with those of the frames around it."""
        graph, half = self._graph, _LOOKUP // 2
        products = graph.node("MatMul", vectors, graph.node("Transpose", vectors, perm=[1, 0]))
        none = self._constant(f"{name}.none", np.zeros((FRAMES, half)))
        flat = self._reshaped(graph.node("Concat", none, products, none, axis=1), (-1,))
        at = np.arange(FRAMES)[:, None] * (FRAMES + 2 * half + 1) + np.arange(_LOOKUP)
        around = graph.node("Gather", flat, graph.constant(f"{name}.at", at.astype(np.int64)), axis=0)
        return graph.node("Relu", self._linear(around, name))

    def _linear(self, hidden: str, name: str) -> str:
        weights, bias = (self._constant(f"{name}.{what}", self._array(f"{name}.{what}")) for what in ("weight", "bias"))
        return self._graph.node("Gemm", hidden, weights, bias, transB=1)

    def _reshaped(self, hidden: str, shape: Sequence[int]) -> str:
        self._shapes += 1
        sides = self._graph.constant(f"shape.{self._shapes}", np.array(shape, np.int64))
        return self._graph.node("Reshape", hidden, sides)

    def _constant(self, name: str, array: NDArray[np.float64]) -> str:
        return self._graph.constant(name, array.astype(np.float32))

    def _array(self, name: str) -> NDArray[np.float64]:
        return np.asarray(self._arrays[name], np.float64)
