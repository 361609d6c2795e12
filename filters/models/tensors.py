"""Arrays in safetensors files, read and written with numpy alone.

The format is a length, a header in JSON and the bytes of the arrays one behind the other
(https://github.com/huggingface/safetensors). Nothing of it can run; what it says of itself is checked all the same.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from winnow.schemas.errors import RecipeError

MAX_HEADER_BYTES = 100 << 20  # of the format itself

_LENGTH = 8
_TYPES: Mapping[str, np.dtype[np.generic]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {kind: name for name, kind in _TYPES.items()}

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Tensors:
    """What a file holds: arrays by name, and text by key."""

    arrays: Mapping[str, Array]
    metadata: Mapping[str, str]


def tensors_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """A file of these arrays; the same ones give the same bytes."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    parts, at = [], 0
    for name, array in sorted(arrays.items()):
        kind = array.dtype.newbyteorder("<")
        part = np.ascontiguousarray(array, kind).tobytes()
        header[name] = {"dtype": _NAMES[kind], "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    said = json.dumps(header, separators=(",", ":")).encode()
    said += b" " * (-len(said) % 8)  # arrays begin at a multiple of eight bytes
    return b"".join([len(said).to_bytes(_LENGTH, "little"), said, *parts])


def read_tensors(path: str) -> Tensors:
    """What a file holds.

    Raises:
        RecipeError: It is no such file, or a damaged one; the line says why.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected a safetensors file") from None
    return tensors_of(raw, path)


def tensors_of(raw: bytes, where: str) -> Tensors:
    """What the bytes of a file hold; RecipeError says that they are no such file, or a damaged one."""
    try:
        return _parsed(raw)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecipeError(f"{where}: no safetensors file, or a damaged one: {error}; fetch or make it again") from None


def _parsed(raw: bytes) -> Tensors:
    size = int.from_bytes(raw[:_LENGTH], "little")
    if len(raw) < _LENGTH or not 2 <= size <= min(MAX_HEADER_BYTES, len(raw) - _LENGTH):
        raise ValueError("its header does not fit into it")
    header = json.loads(raw[_LENGTH : _LENGTH + size].decode())
    if not isinstance(header, dict):
        raise ValueError("its header is no mapping")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata are not text by key")
    values = memoryview(raw)[_LENGTH + size :]
    arrays, end = {}, 0
    for name, said in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, end = _placed(name, said, end, len(values))
        arrays[name] = np.frombuffer(values[start:end], _TYPES[said["dtype"]]).reshape(said["shape"])
    if end != len(values):
        raise ValueError(f"{len(values) - end} bytes belong to no array")
    return Tensors(arrays, metadata)


def _placed(name: str, said: Mapping[str, object], expected: int, size: int) -> tuple[int, int]:
    """Where an array lies: behind the one before it, and as long as its shape says."""
    shape, kind, offsets = said["shape"], said["dtype"], said["data_offsets"]
    if kind not in _TYPES:
        raise ValueError(f"{name} is of type {kind!r}; expected one of {', '.join(_TYPES)}")
    sides = shape if isinstance(shape, list) else [-1]
    places = offsets if isinstance(offsets, list) and len(offsets) == 2 else [-1, -1]
    if not all(type(number) is int and number >= 0 for number in [*sides, *places]):
        raise ValueError(f"{name} has no shape or no place")
    start, end = places
    if start != expected or end > size or end - start != math.prod(sides) * _TYPES[str(kind)].itemsize:
        raise ValueError(f"{name} does not lie where it should")
    return start, end
