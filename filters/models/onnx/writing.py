"""Write ONNX files node by node with the package `onnx`: networks that come as bare weights are made with this.

The same calls give the same bytes.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

OPSET: Final = 13
_IR_VERSION: Final = 7  # the first that has opset 13

Attribute: TypeAlias = int | float | str | Sequence[int]
Shape: TypeAlias = Sequence[int | str]
"""The sides of a tensor; one that is given by name may have any length."""


class OnnxGraph:
    """A network under construction: values are known by their names.

    Example:
        graph = OnnxGraph("head")
        scores = graph.node("Gemm", graph.input("vector", ("n", 4)), graph.constant("weights", weights))
        graph.output(scores, ("n", 2))
        path.write_bytes(graph.to_bytes())
    """

    def __init__(self, name: str) -> None:
        self._onnx = import_module("onnx")
        self._model = self._onnx.ModelProto(ir_version=_IR_VERSION, producer_name="winnow")
        self._model.opset_import.add(domain="", version=OPSET)
        self._graph = self._model.graph
        self._graph.name = name

    def input(self, name: str, shape: Shape, numbers: type[np.generic] = np.float32) -> str:
        """Add an input."""
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(numbers))
        self._graph.input.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: Shape) -> None:
        """Make a value, of 32-bit floats, an output."""
        floats = self._onnx.TensorProto.FLOAT
        self._graph.output.append(self._onnx.helper.make_tensor_value_info(name, floats, shape))

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        """Add an array."""
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def node(self, operator: str, *inputs: str, name: str = "", **attributes: Attribute) -> str:
        """Add an operator with one output, and return the output's name: `name`, or one made of its number."""
        output = name or f"{operator}.{len(self._graph.node)}"
        self._graph.node.append(self._onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def to_bytes(self, metadata: Mapping[str, str] | None = None) -> bytes:
        """The file, with facts about it."""
        self._onnx.helper.set_model_props(self._model, metadata or {})
        content: bytes = self._model.SerializeToString()
        return content
