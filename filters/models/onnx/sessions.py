"""Sessions of ONNX Runtime: one thread, one rule for all models, so that the same file gives the same numbers.

Values are pinned (law 4): the same under the same file, the same version of ONNX Runtime and the same instruction set.
The file's hash is in the layer's key, the version in every commit's fingerprint; the only provider is the CPU.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from winnow.filters.extras import one_line, one_line_errors, required_package
from winnow.schemas.errors import RecipeError

MAX_MODEL_BYTES: Final = 2 << 30  # protobuf's own limit
_PROVIDERS: Final = ["CPUExecutionProvider"]
_SILENT: Final = 4  # ONNX Runtime's severity: fatal
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


def open_session(operator: str, extra: str, path: str, made: bytes | None = None, *, varying: bool = False) -> Any:
    """Load a model.

    Args:
        operator: The operator's name, for the message about a missing package.
        extra: The extra of winnow that installs these packages for it.
        path: The model's file.
        made: The bytes of a model made here from the file; without it, the file is checked and loaded.
        varying: Whether inputs differ in shape: memory is then not planned from the first one.

    Raises:
        RecipeError: A package is missing, or the file is not a model, is damaged or too large, needs more than its own
        file, or cannot be loaded.
    """
    runtime = required_package(operator, "onnxruntime", extra)
    content = made if made is not None else _read(required_package(operator, "onnx", extra), path)
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.use_deterministic_compute = True
    options.enable_mem_pattern = not varying
    options.log_severity_level = _SILENT
    try:
        return runtime.InferenceSession(content, options, providers=_PROVIDERS)
    except Exception as error:  # noqa: BLE001, the package has a class of its own for each cause, under none in common
        raise RecipeError(f"{path}: ONNX Runtime cannot load this model: {one_line(error)}") from None


def _read(onnx: ModuleType, path: str) -> bytes:
    """The bytes of a checked ONNX file."""
    try:
        size = Path(path).stat().st_size
        if size > MAX_MODEL_BYTES:
            raise RecipeError(f"{path}: {size:,} bytes; expected an ONNX model of at most {MAX_MODEL_BYTES:,}")
        content = Path(path).read_bytes()
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected an ONNX model") from None
    check_onnx(onnx, path, content)
    return content


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
    """A message and all messages within it; protobuf itself limits the nesting."""
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
