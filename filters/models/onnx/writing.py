"""Write ONNX files node by node, without the package `onnx`: assets that come as bare weights are made with this.

The same calls give the same bytes. Field numbers are those of https://github.com/onnx/onnx, onnx.proto.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.onnx.messages import Value, written

__all__ = ["OPSET", "Attribute", "OnnxGraph", "Shape", "described"]

OPSET: Final = 13
_IR_VERSION: Final = 7  # the first that has opset 13

Attribute: TypeAlias = int | float | str | Sequence[int]
Shape: TypeAlias = Sequence[int | str]
"""The sides of a tensor; one that is given by name may have any length."""

_FLOAT: Final = 1
_KINDS: Final[Mapping[str, int]] = {"float32": _FLOAT, "uint8": 2, "int64": 7, "float16": 10}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _STRING_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 3, 7


class OnnxGraph:
    """A network under construction: values are known by their names.

    Example:
        graph = OnnxGraph("head")
        scores = graph.node("Gemm", graph.input("vector", ("n", 4)), graph.constant("weights", weights))
        graph.output(scores, ("n", 2))
        path.write_bytes(graph.to_bytes())
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, shape: Shape) -> str:
        """Add an input of 32-bit floats."""
        self._inputs.append(described(name, shape))
        return name

    def output(self, name: str, shape: Shape) -> None:
        """Make a value, of 32-bit floats, an output."""
        self._outputs.append(described(name, shape))

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        """Add an array."""
        raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        dimensions: list[tuple[int, Value]] = [(1, side) for side in array.shape]
        self._constants.append(written(*dimensions, (2, _KINDS[array.dtype.name]), (8, name), (9, raw)))
        return name

    def node(self, operator: str, *inputs: str, name: str = "", **attributes: Attribute) -> str:
        """Add an operator with one output, and return the output's name: `name`, or one made of its number."""
        output = name or f"{operator}.{len(self._nodes)}"
        parts: list[tuple[int, Value]] = [(1, one) for one in inputs]
        parts += [(2, output), (4, operator)]
        parts += [(5, _attribute(key, value)) for key, value in sorted(attributes.items())]
        self._nodes.append(written(*parts))
        return output

    def to_bytes(self) -> bytes:
        """The file."""
        groups = ((1, self._nodes), (5, self._constants), (11, self._inputs), (12, self._outputs))
        parts: list[tuple[int, Value]] = [(number, one) for number, group in groups for one in group]
        graph = written(*parts, (2, self._name))
        opset = written((1, ""), (2, OPSET))
        return written((1, _IR_VERSION), (2, "winnow"), (7, graph), (8, opset))


def described(name: str, shape: Shape) -> bytes:
    """An input or output of 32-bit floats, as a message."""
    sides = [(1, written((2, side) if isinstance(side, str) else (1, side))) for side in shape]
    tensor = written((1, _FLOAT), (2, written(*sides)))
    return written((1, name), (2, written((1, tensor))))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return written((1, name), (3, value), (20, _INT_ATTRIBUTE))
    if isinstance(value, float):
        return written((1, name), (2, value), (20, _FLOAT_ATTRIBUTE))
    if isinstance(value, str):
        return written((1, name), (4, value), (20, _STRING_ATTRIBUTE))
    return written((1, name), *((8, one) for one in value), (20, _INTS_ATTRIBUTE))
