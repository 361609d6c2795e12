"""Converts a Keras network on pictures, given as layers and weights, to an ONNX file.

It supports the layers of plain convolutional classifiers: convolutions, norms, activations, pools, concatenations and
dense layers. Colours come last in Keras and first in ONNX. Norms are folded into the convolutions before them, so
values differ in the last digits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.schemas.errors import WinnowError

Arrays = Mapping[str, NDArray[np.float32]]
Layer = Mapping[str, Any]

_ACTIVATIONS: Final = {"linear": "Identity", "relu": "Relu", "softmax": "Softmax", "sigmoid": "Sigmoid"}
_PADDINGS: Final = {"same": "SAME_UPPER", "valid": "VALID"}


def keras_onnx(name: str, layers: Sequence[Layer], arrays: Arrays, output: str) -> bytes:
    """An ONNX file: images × 3 × side × side, from `pixels` to `output`, of a dense layer.

    Raises:
        WinnowError: A layer is of an unsupported kind, or has an unsupported setting.
    """
    network = _Network(name, arrays)
    for layer in layers:
        network.add(layer)
    last = layers[-1]["config"]
    network.graph.output(
        network.graph.node("Identity", network.values[last["name"]], name=output), ("n", last["units"])
    )
    return network.graph.to_bytes()


class _Network:
    """The graph under construction: the value of each layer, by its name."""

    def __init__(self, name: str, arrays: Arrays) -> None:
        self.graph = OnnxGraph(name)
        self.values: dict[str, str] = {}
        self._arrays = arrays
        self._bare: dict[str, tuple[str, Layer]] = {}  # convolutions whose norm comes next, with their inputs
        self._writers: dict[str, Callable[[str, Layer, list[str]], str]] = {
            "BatchNormalization": self._norm,
            "Activation": lambda name, config, read: self._activated(name, config, self.values[read[0]]),
            "MaxPooling2D": lambda name, config, read: self._pool("MaxPool", name, config, read),
            "AveragePooling2D": lambda name, config, read: self._pool("AveragePool", name, config, read),
            "Concatenate": self._concatenation,
            "Flatten": self._flattened,
            "Dropout": lambda _name, _config, read: self.values[read[0]],
            "Dense": self._dense,
        }

    def add(self, layer: Layer) -> None:
        """Add one layer after its inputs."""
        kind, config = layer["class_name"], layer["config"]
        name = config["name"]
        if kind == "InputLayer":
            _, height, width, colours = config["batch_input_shape"]
            self.values[name] = self.graph.input("pixels", ("n", colours, height, width))
            return
        if kind not in (*self._writers, "Conv2D") or config.get("data_format", "channels_last") != "channels_last":
            raise WinnowError(f"{name}: layers {kind} are not written")
        read = [one[0] for one in layer["inbound_nodes"][0]]
        if kind == "Conv2D":
            if config["use_bias"] or config["activation"] != "linear" or config["dilation_rate"] != [1, 1]:
                raise WinnowError(f"{name}: convolutions with a bias, an activation or holes are not written")
            self._bare[name] = self.values[read[0]], config
        else:
            self.values[name] = self._writers[kind](name, config, read)

    def _norm(self, name: str, config: Layer, read: list[str]) -> str:
        before, convolution = self._bare.pop(read[0])
        weights = self._array(read[0], "kernel").transpose(3, 2, 0, 1).astype(np.float64)
        scale = 1 / np.sqrt(self._array(name, "moving_variance").astype(np.float64) + config["epsilon"])
        if config["scale"]:
            scale *= self._array(name, "gamma")
        bias = -self._array(name, "moving_mean") * scale + (self._array(name, "beta") if config["center"] else 0)
        return self.graph.node(
            "Conv",
            before,
            self.graph.constant(f"{name}.weight", (weights * scale[:, None, None, None]).astype(np.float32)),
            self.graph.constant(f"{name}.bias", bias.astype(np.float32)),
            kernel_shape=convolution["kernel_size"],
            strides=convolution["strides"],
            auto_pad=_PADDINGS[convolution["padding"]],
        )

    def _activated(self, name: str, config: Layer, value: str) -> str:
        if config["activation"] not in _ACTIVATIONS:
            raise WinnowError(f"{name}: the activation {config['activation']} is not written")
        return self.graph.node(_ACTIVATIONS[config["activation"]], value)

    def _pool(self, kind: str, name: str, config: Layer, read: list[str]) -> str:
        if kind == "MaxPool" and config["padding"] == "same":
            raise WinnowError(f"{name}: pools of the largest value with borders are not written")
        shared = {"kernel_shape": config["pool_size"], "strides": config["strides"]}
        return self.graph.node(kind, self.values[read[0]], **shared, auto_pad=_PADDINGS[config["padding"]])

    def _concatenation(self, name: str, config: Layer, read: list[str]) -> str:
        if config["axis"] not in (3, -1):
            raise WinnowError(f"{name}: joins along axis {config['axis']} are not written")
        return self.graph.node("Concat", *(self.values[one] for one in read), axis=1)

    def _flattened(self, _name: str, _config: Layer, read: list[str]) -> str:
        """Colours come last in Keras."""
        return self.graph.node("Flatten", self.graph.node("Transpose", self.values[read[0]], perm=[0, 2, 3, 1]), axis=1)

    def _dense(self, name: str, config: Layer, read: list[str]) -> str:
        weights = self.graph.constant(f"{name}.weight", self._array(name, "kernel"))
        bias = self.graph.constant(f"{name}.bias", self._array(name, "bias"))
        return self._activated(name, config, self.graph.node("Gemm", self.values[read[0]], weights, bias))

    def _array(self, layer: str, name: str) -> NDArray[np.float32]:
        found = self._arrays.get(f"{layer}/{name}")
        if found is None:
            raise WinnowError(f"{layer}: its {name} is missing")
        return found
