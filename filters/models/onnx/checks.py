"""Validate ONNX files before ONNX Runtime reads them.

The file is a protobuf message (https://github.com/onnx/onnx, onnx.proto). It may refer to other files, to operators of
other libraries and to tensors of any size; and its computation may be random or endless. All this is refused here, so
that a model is exactly the file in its layer's key, and results are reproducible.
"""

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from winnow.filters.extras import one_line_errors
from winnow.schemas.errors import RecipeError

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


def check_onnx(onnx: ModuleType, path: str, content: bytes) -> None:
    """Validate a model; `onnx` is the package.

    Raises:
        RecipeError: It is not an ONNX model, is damaged, or needs more than its own file.
    """
    expected = "expected an ONNX file, or weights in safetensors"
    with one_line_errors(f"{path}: not an ONNX model, or a damaged one", expected):
        model = onnx.ModelProto.FromString(content)
    graphs = 0
    used: set[tuple[str, str]] = set()  # domain and name of operators
    defined: set[tuple[str, str]] = set()  # of the model's own functions
    for one in _messages(model):
        if isinstance(one, onnx.GraphProto):
            graphs += 1
        elif isinstance(one, onnx.NodeProto):
            used.add((str(one.domain), str(one.op_type)))  # bytes where a damaged file has no text
        elif isinstance(one, onnx.FunctionProto):
            defined.add((str(one.domain), str(one.name)))
        elif isinstance(one, onnx.TensorProto):
            _check_tensor(path, one, one.data_location == onnx.TensorProto.EXTERNAL or bool(one.external_data))
    if not graphs:
        raise RecipeError(f"{path}: an ONNX model without a graph; expected a model for inference")
    for domain, name in sorted(used):
        if domain in _DOMAINS and name in _REFUSED:
            raise RecipeError(f"{path}: the operator {name} {_REFUSED[name]}; export the model without it")
    foreign = sorted(pair for pair in used - defined if pair[0] not in _DOMAINS)
    if foreign:
        names = ", ".join(f"{domain[:60]}.{name[:60]}" for domain, name in foreign[:4])
        raise RecipeError(f"{path}: operators that ONNX Runtime does not have: {names}; export the model without them")


def _messages(model: Any) -> Iterator[Any]:
    """A message and all messages within it; protobuf itself refuses what is nested for ever."""
    waiting = [model]
    while waiting:
        one = waiting.pop()
        yield one
        for field, value in one.ListFields():
            if field.message_type is not None:
                waiting += [value] if hasattr(value, "ListFields") else list(value)


def _check_tensor(path: str, tensor: Any, elsewhere: bool) -> None:
    name, sides = tensor.name[:80], list(tensor.dims)
    if elsewhere:
        raise RecipeError(
            f"{path}: the tensor {name!r} is in another file; save the model as one file, without external data"
        )
    size = tensor.ByteSize()
    if any(side < 0 for side in sides) or math.prod(sides) > 2 * size:  # the smallest numbers are half a byte
        raise RecipeError(f"{path}: a damaged ONNX model: the tensor {name!r} of shape {sides[:8]} has {size:,} bytes")
