"""Arrays in safetensors files (https://github.com/huggingface/safetensors): read by its own package, written here.

The package checks that a header fits its file and that arrays lie behind one another; how large a header may be is
decided here. It writes metadata in another order each time (safetensors 0.8), and weights are named by their bytes, so
files are written by `tensors_bytes`: a length, a header in JSON and the bytes of the arrays one behind the other.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
from safetensors import SafetensorError, deserialize

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown
from winnow.schemas.safetensors_index import files_of

MAX_HEADER_BYTES = 16 << 20  # some 150,000 arrays; the format's 100 MB of them take minutes and gigabytes to read

_LENGTH = 8
_NAMES: Mapping[np.dtype[np.generic], str] = {
    np.dtype("<f8"): "F64",
    np.dtype("<f4"): "F32",
    np.dtype("<f2"): "F16",
    np.dtype("<i8"): "I64",
    np.dtype("<i4"): "I32",
    np.dtype("<i2"): "I16",
    np.dtype("i1"): "I8",
    np.dtype("u1"): "U8",
    np.dtype("?"): "BOOL",
}

_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_BF16 = "BF16"  # numpy has no such type; read, not written

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Tensors:
    """The contents of a file: arrays by name, and text by key."""

    arrays: Mapping[str, Array]
    metadata: Mapping[str, str]


def tensors_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The file of these arrays; equal arrays give equal bytes."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    parts, at = [], 0
    for name, array in sorted(arrays.items()):
        kind = array.dtype.newbyteorder("<")
        part = np.ascontiguousarray(array, kind).tobytes()
        header[name] = {"dtype": _NAMES[kind], "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)  # arrays begin at a multiple of eight bytes
    return b"".join([len(encoded).to_bytes(_LENGTH, "little"), encoded, *parts])


def read_tensors(path: str) -> Tensors:
    """Read a safetensors file, or all files of an index; two may not hold the same array.

    Raises:
        RecipeError: It is not such a file, or is damaged; the message says why.
    """
    files = files_of(path)
    if files != (path,):
        parts = [read_tensors(file) for file in files]
        arrays = {name: array for part in parts for name, array in part.arrays.items()}
        if len(arrays) < sum(len(part.arrays) for part in parts):
            raise RecipeError(f"{path}: two of its files hold the same array; download them again")
        return Tensors(arrays, {})
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected a safetensors file") from None
    except MemoryError:
        raise RecipeError(f"{path}: its weights do not fit into memory; expected those of a smaller model") from None
    return tensors_of(raw, path)


def tensors_of(raw: bytes, where: str) -> Tensors:
    """Decode the bytes of a file; RecipeError if they are not a safetensors file, or a damaged one."""
    try:
        return _parsed(raw)
    except (ValueError, SafetensorError) as error:
        reason = shown(str(error), 200)[1:-1]  # it may contain the name of an array, which may be anything
        raise RecipeError(
            f"{where}: not a safetensors file, or a damaged one: {reason}; fetch or make it again"
        ) from None


def _parsed(raw: bytes) -> Tensors:
    size = int.from_bytes(raw[:_LENGTH], "little")
    if size > MAX_HEADER_BYTES:
        raise ValueError(f"header too large: expected {MAX_HEADER_BYTES} bytes at most")
    parts = deserialize(raw)  # type: ignore[no-untyped-call]  # names with types, shapes and bytes
    found = {name: _array(held["dtype"], held["shape"], held["data"]) for name, held in parts}
    # The package gives neither their order nor the text; by now the header is known to be valid.
    header = orjson.loads(raw[_LENGTH : _LENGTH + size])
    metadata = header.pop("__metadata__", None) or {}
    arrays = {name: found[name] for name in sorted(header, key=lambda name: header[name]["data_offsets"])}
    return Tensors(arrays, metadata)


def _array(kind: str, shape: Sequence[int], content: bytes) -> Array:
    """An array of the file; BF16 becomes 32-bit floats, of which it is the upper half."""
    if kind == _BF16:
        halves = np.frombuffer(content, "<u2").astype("<u4")
        halves <<= 16
        return halves.view("<f4").reshape(shape)
    dtype = _DTYPES.get(kind)
    if dtype is None:
        raise ValueError(f"an array is of type {kind}; expected one of {', '.join((*_DTYPES, _BF16))}")
    return np.frombuffer(content, dtype).reshape(shape)
