"""Sessions of ONNX Runtime: one thread, one rule for all models, so that the same file gives the same numbers.

Values are pinned (law 4): the same under the same file, the same version of ONNX Runtime and the same instruction set.
The file's hash is in the layer's key, the version in every commit's fingerprint; the only provider is the CPU.
"""

from pathlib import Path
from types import ModuleType
from typing import Any, Final

from winnow.filters.extras import one_line, required_package
from winnow.filters.models.onnx.checks import check_onnx
from winnow.schemas.errors import RecipeError

MAX_MODEL_BYTES: Final = 2 << 30  # protobuf's own limit
_PROVIDERS: Final = ["CPUExecutionProvider"]
_SILENT: Final = 4  # ONNX Runtime's severity: fatal


def open_session(operator: str, extra: str, path: str, made: bytes | None = None, *, varying: bool = False) -> Any:
    """Load a model.

    Args:
        operator: Who needs it, for the message if a package is missing.
        extra: The extra of winnow that installs these packages for it.
        path: The model's file.
        made: The model where it was made here, of what is in the file; else the file is checked.
        varying: Whether inputs differ in shape: memory is then not planned from the first one.

    Raises:
        RecipeError: A package is missing, or the file is no model, is damaged or too large, needs more than its own
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
