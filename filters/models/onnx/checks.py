"""Validate ONNX files byte by byte before ONNX Runtime reads them.

The file is a protobuf message (https://github.com/onnx/onnx, onnx.proto). It may refer to other files, to operators of
other libraries and to tensors of any size; and its computation may be random or endless. All this is refused here, so
that a model is exactly the file in its layer's key, and results are reproducible.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from winnow.filters.models.onnx.messages import Field, fields, packed_numbers, text_of
from winnow.schemas.errors import RecipeError

MAX_DEPTH = 64  # graphs within graphs

_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""The domains of ONNX Runtime's own operators."""

_REFUSED = {
    **dict.fromkeys(
        ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"),
        "is random",
    ),
    **dict.fromkeys(("Loop", "Scan"), "may never end"),
    "EPContext": "reads another file",
}


class _Kind(Enum):
    MODEL = auto()
    TRAINING = auto()
    FUNCTION = auto()
    OPERATORS = auto()
    GRAPH = auto()
    NODE = auto()
    ATTRIBUTE = auto()
    SPARSE = auto()
    TENSOR = auto()


_PARTS: Mapping[_Kind, Mapping[int, _Kind]] = {
    _Kind.MODEL: {7: _Kind.GRAPH, 8: _Kind.OPERATORS, 20: _Kind.TRAINING, 25: _Kind.FUNCTION},
    _Kind.TRAINING: {1: _Kind.GRAPH, 2: _Kind.GRAPH},
    _Kind.FUNCTION: {7: _Kind.NODE, 9: _Kind.OPERATORS, 11: _Kind.ATTRIBUTE},
    _Kind.OPERATORS: {},
    _Kind.GRAPH: {1: _Kind.NODE, 5: _Kind.TENSOR, 15: _Kind.SPARSE},
    _Kind.NODE: {5: _Kind.ATTRIBUTE},
    _Kind.ATTRIBUTE: {
        **{5: _Kind.TENSOR, 6: _Kind.GRAPH, 10: _Kind.TENSOR, 11: _Kind.GRAPH},
        **{22: _Kind.SPARSE, 23: _Kind.SPARSE},
    },
    _Kind.SPARSE: {1: _Kind.TENSOR, 2: _Kind.TENSOR},
    _Kind.TENSOR: {},
}
"""Which fields of a message contain which messages; the others are not parsed."""


@dataclass(slots=True)
class _Found:
    """The findings of the walk."""

    path: str
    graphs: int = 0
    used: set[tuple[str, str]] = field(default_factory=set)  # domain and name of operators
    defined: set[tuple[str, str]] = field(default_factory=set)  # of the model's own functions


def check_onnx(path: str, content: bytes) -> None:
    """Validate a model.

    Raises:
        RecipeError: It is not an ONNX model, is damaged, or needs more than its own file.
    """
    found = _Found(path)
    waiting = [(_Kind.MODEL, memoryview(content), 0)]
    try:
        while waiting:
            kind, message, depth = waiting.pop()
            if depth > MAX_DEPTH:
                raise RecipeError(f"{path}: graphs within graphs, {MAX_DEPTH} deep; expected a model for inference")
            for one in _look(found, kind, message):
                part = _PARTS[kind].get(one.number)
                if part is not None and isinstance(one.value, memoryview):
                    waiting.append((part, one.value, depth + (part is _Kind.GRAPH)))
    except ValueError as error:
        raise RecipeError(
            f"{path}: not an ONNX model, or a damaged one: {error}; expected an ONNX file, or weights in safetensors"
        ) from None
    if not found.graphs:
        raise RecipeError(f"{path}: an ONNX model without a graph; expected a model for inference")
    for domain, name in sorted(found.used):
        if domain in _DOMAINS and name in _REFUSED:
            raise RecipeError(f"{path}: the operator {name} {_REFUSED[name]}; export the model without it")
    foreign = sorted(pair for pair in found.used - found.defined if pair[0] not in _DOMAINS)
    if foreign:
        names = ", ".join(f"{domain[:60]}.{name[:60]}" for domain, name in foreign[:4])
        raise RecipeError(f"{path}: operators that ONNX Runtime does not have: {names}; export the model without them")


def _look(found: _Found, kind: _Kind, message: memoryview) -> list[Field]:
    """Read the fields of a message and record the relevant ones."""
    read = list(fields(message))
    if kind is _Kind.GRAPH:
        found.graphs += 1
    elif kind is _Kind.NODE:
        found.used.add((text_of(read, 7), text_of(read, 4)))
    elif kind is _Kind.FUNCTION:
        found.defined.add((text_of(read, 10), text_of(read, 1)))
    elif kind is _Kind.TENSOR:
        _check_tensor(found.path, read, len(message))
    return read


def _check_tensor(path: str, read: list[Field], size: int) -> None:
    name = text_of(read, 8)
    if any(one.number == 13 or (one.number == 14 and one.value != 0) for one in read):
        raise RecipeError(
            f"{path}: the tensor {name[:80]!r} is in another file; save the model as one file, without external data"
        )
    dimensions: list[int] = []
    for one in read:
        if one.number == 1:
            if isinstance(one.value, int):
                dimensions.append(one.value)
            elif one.value is not None:
                dimensions += packed_numbers(one.value)
    if any(side >= 1 << 63 for side in dimensions):
        raise ValueError(f"the tensor {name[:80]!r} has a negative dimension")
    if math.prod(dimensions) > 2 * size:  # the smallest numbers are half a byte
        raise ValueError(f"the tensor {name[:80]!r} of shape {dimensions[:8]} has only {size:,} bytes")
