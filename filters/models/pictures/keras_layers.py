"""Writes a Keras network of images, given as its layers and weights, as an ONNX file.

The layers of plain convolutional classifiers: convolutions, norms, activations, pools, concatenations and dense ones.
Colours come last in Keras and first in ONNX. Norms are folded into the convolutions that they follow, so values differ
in the last digits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.schemas.errors import WinnowError

__all__ = ["keras_onnx"]

Arrays = Mapping[str, NDArray[np.float32]]
Layer = Mapping[str, Any]

_ACTIVATIONS: Final = {"relu": "Relu", "softmax": "Softmax", "sigmoid": "Sigmoid"}


def keras_onnx(name: str, layers: Sequence[Layer], arrays: Arrays, output: str) -> bytes:
    """An ONNX file: images × 3 × side × side, from `pixels` to `output`.

    Raises:
        WinnowError: A layer is of a kind or has a setting that is not written.
    """
    network = _Network(name, arrays)
    for layer in layers:
        network.add(layer)
    return network.finished(output, layers[-1]["config"]["name"])


class _Network:
    """The graph under construction: the value of each layer, and the shape of what it gives, colours first."""

    def __init__(self, name: str, arrays: Arrays) -> None:
        self._arrays = arrays
        self._graph = OnnxGraph(name)
        self._values: dict[str, str] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._bare: dict[str, tuple[str, Layer]] = {}  # convolutions whose norm is to come, with what they read
        self._writers: dict[str, Callable[[str, Layer, list[str]], None]] = {
            "Conv2D": self._convolution,
            "BatchNormalization": self._norm,
            "Activation": self._activation,
            "MaxPooling2D": self._pool,
            "AveragePooling2D": self._pool,
            "Concatenate": self._concatenation,
            "Flatten": self._flattened,
            "Dropout": self._passed,
            "Dense": self._dense,
        }

    def add(self, layer: Layer) -> None:
        """Add one layer, whose inputs were added."""
        kind, config = layer["class_name"], layer["config"]
        name = config["name"]
        if kind == "InputLayer":
            _, height, width, colours = config["batch_input_shape"]
            self._shapes[name] = (colours, height, width)
            self._values[name] = self._graph.input("pixels", ("n", colours, height, width))
            return
        if kind not in self._writers or config.get("data_format", "channels_last") != "channels_last":
            raise WinnowError(f"{name}: layers {kind} are not written")
        self._writers[kind](name, config, [one[0] for one in layer["inbound_nodes"][0]])

    def finished(self, output: str, last: str) -> bytes:
        """The file, once all layers were added."""
        self._graph.output(self._graph.node("Identity", self._values[last], name=output), ("n", *self._shapes[last]))
        return self._graph.to_bytes()

    def _convolution(self, name: str, config: Layer, inputs: list[str]) -> None:
        if config["use_bias"] or config["activation"] != "linear" or config["dilation_rate"] != [1, 1]:
            raise WinnowError(f"{name}: convolutions with a bias, an activation or holes are not written")
        filters, (height, width), _ = self._sizes(inputs[0], config["kernel_size"], config, config["filters"])
        self._shapes[name] = (filters, height, width)
        self._bare[name] = inputs[0], config

    def _norm(self, name: str, config: Layer, inputs: list[str]) -> None:
        read, convolution = self._bare.pop(inputs[0])
        weights = self._array(inputs[0], "kernel").transpose(3, 2, 0, 1).astype(np.float64)
        scale = 1 / np.sqrt(self._array(name, "moving_variance").astype(np.float64) + config["epsilon"])
        if config["scale"]:
            scale *= self._array(name, "gamma")
        bias = -self._array(name, "moving_mean") * scale + (self._array(name, "beta") if config["center"] else 0)
        _, _, pads = self._sizes(read, convolution["kernel_size"], convolution, 0)
        self._values[name] = self._graph.node(
            "Conv",
            self._values[read],
            self._graph.constant(f"{name}.weight", (weights * scale[:, None, None, None]).astype(np.float32)),
            self._graph.constant(f"{name}.bias", bias.astype(np.float32)),
            kernel_shape=convolution["kernel_size"],
            strides=convolution["strides"],
            pads=pads,
        )
        self._shapes[name] = self._shapes[inputs[0]]

    def _activation(self, name: str, config: Layer, inputs: list[str]) -> None:
        self._values[name] = self._activated(name, config["activation"], self._values[inputs[0]])
        self._shapes[name] = self._shapes[inputs[0]]

    def _activated(self, name: str, activation: str, value: str) -> str:
        if activation == "linear":
            return value
        if activation not in _ACTIVATIONS:
            raise WinnowError(f"{name}: the activation {activation} is not written")
        return self._graph.node(_ACTIVATIONS[activation], value)

    def _pool(self, name: str, config: Layer, inputs: list[str]) -> None:
        colours, sides, pads = self._sizes(inputs[0], config["pool_size"], config, self._shapes[inputs[0]][0])
        kind = "MaxPool" if name.startswith("max") else "AveragePool"
        shared = {"kernel_shape": config["pool_size"], "strides": config["strides"], "pads": pads}
        if kind == "MaxPool" and any(pads):
            raise WinnowError(f"{name}: pools of the largest value with borders are not written")
        self._values[name] = self._graph.node(kind, self._values[inputs[0]], **shared)
        self._shapes[name] = (colours, *sides)

    def _concatenation(self, name: str, config: Layer, inputs: list[str]) -> None:
        if config["axis"] not in (3, -1):
            raise WinnowError(f"{name}: joins along axis {config['axis']} are not written")
        self._values[name] = self._graph.node("Concat", *(self._values[one] for one in inputs), axis=1)
        _, *sides = self._shapes[inputs[0]]
        self._shapes[name] = (sum(self._shapes[one][0] for one in inputs), *sides)

    def _flattened(self, name: str, _config: Layer, inputs: list[str]) -> None:
        """Colours come last in Keras."""
        last = self._graph.node("Transpose", self._values[inputs[0]], perm=[0, 2, 3, 1])
        self._values[name] = self._graph.node("Flatten", last, axis=1)
        self._shapes[name] = (int(np.prod(self._shapes[inputs[0]])),)

    def _passed(self, name: str, _config: Layer, inputs: list[str]) -> None:
        self._values[name], self._shapes[name] = self._values[inputs[0]], self._shapes[inputs[0]]

    def _dense(self, name: str, config: Layer, inputs: list[str]) -> None:
        weights = self._graph.constant(f"{name}.weight", self._array(name, "kernel"))
        bias = self._graph.constant(f"{name}.bias", self._array(name, "bias"))
        value = self._graph.node("Gemm", self._values[inputs[0]], weights, bias)
        self._values[name] = self._activated(name, config["activation"], value)
        self._shapes[name] = (config["units"],)

    def _array(self, layer: str, name: str) -> NDArray[np.float32]:
        found = self._arrays.get(f"{layer}/{name}")
        if found is None:
            raise WinnowError(f"{layer}: its {name} is missing")
        return found

    def _sizes(
        self, read: str, kernel: Sequence[int], config: Layer, colours: int
    ) -> tuple[int, tuple[int, int], list[int]]:
        """The shape of what a window gives, and its borders: before and after, of rows and of columns."""
        _, *sides = self._shapes[read]
        given, before, after = [], [], []
        for side, size, stride in zip(sides, kernel, config["strides"], strict=True):
            same = config["padding"] == "same"
            count = -(-side // stride) if same else (side - size) // stride + 1
            border = max((count - 1) * stride + size - side, 0) if same else 0
            given.append(count)
            before.append(border // 2)
            after.append(border - border // 2)
        height, width = given
        return colours, (height, width), [*before, *after]
