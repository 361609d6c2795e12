"""Read the arrays of a PyTorch checkpoint without unpickling, and without PyTorch.

Since PyTorch 1.6 a checkpoint is a zip archive: a pickle of the arrays' names and shapes, and a member with the values
of each. Older ones are three pickles of facts about the file, the same pickle, one of the order of the values, and the
values.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from winnow.filters.models.conversion.pickles import Call, Name, read_pickle
from winnow.schemas.errors import WinnowError

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_ZIP: Final = b"PK\x03\x04"
_DESCRIPTION: Final = "/data.pkl"
_KINDS: Final[Mapping[str, str]] = {"torch.FloatStorage": "<f4", "torch.LongStorage": "<i8"}
_NAMES: Final = frozenset({*_KINDS, "torch._utils._rebuild_tensor_v2"})


@dataclass(frozen=True, slots=True)
class _Array:
    key: str  # of the values that contain it
    kind: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of a checkpoint by name.

    Raises:
        WinnowError: It is not of this format, is damaged, or contains something other than arrays.
    """
    content = path.read_bytes()
    try:
        return _of_archive(content) if content.startswith(_ZIP) else _of_stream(BytesIO(content))
    except (
        *(ValueError, IndexError, TypeError, KeyError, AttributeError),
        *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError),
    ) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0][:200]
        raise WinnowError(f"{path.name}: not a PyTorch checkpoint of arrays: {reason}; nothing of it was run") from None


def _of_archive(content: bytes) -> dict[str, NDArray[np.generic]]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("it is compressed, which checkpoints are not")
        (description,) = (name for name in archive.namelist() if name.endswith(_DESCRIPTION))
        folder = description.removesuffix(_DESCRIPTION)
        arrays = _described(read_pickle(BytesIO(archive.read(description)), _NAMES))
        kinds = {one.key: one.kind for one in arrays.values()}
        values = {key: np.frombuffer(archive.read(f"{folder}/data/{key}"), kind) for key, kind in kinds.items()}
    return {name: _placed(values[one.key], one) for name, one in arrays.items()}


def _of_stream(stream: BinaryIO) -> dict[str, NDArray[np.generic]]:
    magic, protocol, _, described, order = (read_pickle(stream, _NAMES) for _ in range(5))
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(order, list):
        raise ValueError("it does not begin like one")
    return _filled(stream, _described(described), order)


def _described(found: object) -> dict[str, _Array]:
    if not isinstance(found, dict):
        raise ValueError("it has no arrays")
    return {str(name): _array(one) for name, one in found.items()}


def _array(found: object) -> _Array:
    match found:
        case Call(
            Name("torch._utils._rebuild_tensor_v2"),
            (
                Call(None, ("storage", Name(kind), str(key), str(), int(), *view)),
                int(offset),
                tuple(shape),
                tuple(strides),
                False,
                dict(),
            ),
        ) if kind in _KINDS and view in ([], [None]):
            if all(isinstance(one, int) and one >= 0 for one in (*shape, *strides)):
                return _Array(key, _KINDS[kind], offset, shape, strides)
    raise ValueError("it has more than arrays")


def _filled(stream: BinaryIO, arrays: Mapping[str, _Array], order: list[object]) -> dict[str, NDArray[np.generic]]:
    kinds: dict[object, str] = {one.key: one.kind for one in arrays.values()}
    values: dict[object, NDArray[np.generic]] = {}
    for key in order:
        kind = np.dtype(kinds[key])
        size = int.from_bytes(stream.read(8), "little") * kind.itemsize
        raw = stream.read(size)
        if len(raw) != size:
            raise ValueError("it ends early")
        values[key] = np.frombuffer(raw, kind)
    return {name: _placed(values[one.key], one) for name, one in arrays.items()}


def _placed(values: NDArray[np.generic], one: _Array) -> NDArray[np.generic]:
    """The array within these values."""
    last = one.offset + sum((side - 1) * stride for side, stride in zip(one.shape, one.strides, strict=True))
    if one.offset < 0 or 0 in one.shape or last >= len(values):
        raise ValueError("an array beyond its values")
    apart = tuple(stride * values.itemsize for stride in one.strides)
    return np.ascontiguousarray(as_strided(values[one.offset :], one.shape, apart, writeable=False)).reshape(one.shape)
