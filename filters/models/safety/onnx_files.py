"""Validate ONNX files byte by byte before ONNX Runtime reads them.

The file is a protobuf message (https://github.com/onnx/onnx, onnx.proto). It may refer to other files, to operators of
other libraries and to tensors of any size; and its computation may be random or endless. All this is refused here, so
that a model is exactly the file in its layer's key, and results are reproducible.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

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
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


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
            for number, value in _look(found, kind, message):
                part = _PARTS[kind].get(number)
                if part is not None and isinstance(value, memoryview):
                    waiting.append((part, value, depth + (part is _Kind.GRAPH)))
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


def _look(found: _Found, kind: _Kind, message: memoryview) -> list[tuple[int, int | memoryview]]:
    """Read the fields of a message and record the relevant ones."""
    fields = list(_fields(message))
    if kind is _Kind.GRAPH:
        found.graphs += 1
    elif kind is _Kind.NODE:
        found.used.add((_text(fields, 7), _text(fields, 4)))
    elif kind is _Kind.FUNCTION:
        found.defined.add((_text(fields, 10), _text(fields, 1)))
    elif kind is _Kind.TENSOR:
        _check_tensor(found.path, fields, len(message))
    return fields


def _check_tensor(path: str, fields: list[tuple[int, int | memoryview]], size: int) -> None:
    name = _text(fields, 8)
    if any(number == 13 or (number == 14 and value != 0) for number, value in fields):
        raise RecipeError(
            f"{path}: the tensor {name[:80]!r} is in another file; save the model as one file, without external data"
        )
    dimensions: list[int] = []
    for number, value in fields:
        if number == 1:
            dimensions += [value] if isinstance(value, int) else _packed(value)
    if any(side >= 1 << 63 for side in dimensions):
        raise ValueError(f"the tensor {name[:80]!r} has a negative dimension")
    if math.prod(dimensions) > 2 * size:  # the smallest numbers are half a byte
        raise ValueError(f"the tensor {name[:80]!r} of shape {dimensions[:8]} has only {size:,} bytes")


def _text(fields: list[tuple[int, int | memoryview]], number: int) -> str:
    """A field that is text; the last one counts."""
    found = [value for field_, value in fields if field_ == number and isinstance(value, memoryview)]
    return bytes(found[-1][:1_000]).decode("utf-8", "replace") if found else ""


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and the value of each field of a message."""
    at, size = 0, len(message)
    while at < size:
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(message, at)
        elif wire in (_FIXED_64, _FIXED_32):
            length = 8 if wire == _FIXED_64 else 4
        else:
            raise ValueError(f"a field of kind {wire}")
        if number == 0 or length > size - at:
            raise ValueError("a field that ends after its message")
        if wire == _BYTES:
            yield number, message[at : at + length]
        at += length


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for step in range(_MAX_VARINT_BYTES):
        if at + step >= len(message):
            raise ValueError("it ends inside a number")
        octet = message[at + step]
        value |= (octet & 0x7F) << 7 * step
        if octet < 0x80:
            return value & (1 << 64) - 1, at + step + 1
    raise ValueError("a number of more than ten bytes")


def _packed(values: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(values):
        value, at = _varint(values, at)
        found.append(value)
    return found
