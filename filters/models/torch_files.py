"""Read the arrays of a PyTorch checkpoint without unpickling, and without PyTorch.

Since PyTorch 1.6 a checkpoint is a zip archive: a pickle of the arrays' names and shapes, and a member of values for
each. Before, it was three pickles of facts about the file, the same pickle, one of the order of the values, and then
these. A pickle is a program for a small stack machine; this interpreter knows only the instructions that describe
arrays. Nothing is imported, nothing is called.
"""

import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError

__all__ = ["read_arrays"]

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_FACTS: Final = 1_000  # instructions of the pickles that state facts about the file
_INSTRUCTIONS: Final = 1_000_000
_ZIP: Final = b"PK\x03\x04"
_DESCRIPTION: Final = "/data.pkl"
_KINDS: Final[Mapping[str, str]] = {"torch FloatStorage": "<f4", "torch LongStorage": "<i8"}
_REBUILD: Final = "torch._utils _rebuild_tensor_v2"
_DICTIONARY: Final = "collections OrderedDict"


@dataclass(frozen=True, slots=True)
class _Name:
    dotted: str


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Array:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """A marker on the stack before an instruction's items."""


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of a checkpoint by name.

    Raises:
        WinnowError: It is none of this format, is damaged, or describes something else than arrays.
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
        arrays = _described(_run(BytesIO(archive.read(description)), _INSTRUCTIONS))
        kinds = {one.storage.key: one.storage.kind for one in arrays.values()}
        values = {key: np.frombuffer(archive.read(f"{folder}/data/{key}"), kind) for key, kind in kinds.items()}
    return {name: _placed(values[one.storage.key], one) for name, one in arrays.items()}


def _of_stream(stream: BinaryIO) -> dict[str, NDArray[np.generic]]:
    if _run(stream, _FACTS) != _MAGIC or _run(stream, _FACTS) != _PROTOCOL:
        raise ValueError("it does not begin like one")
    _run(stream, _FACTS)
    described = _run(stream, _INSTRUCTIONS)
    order = _run(stream, _INSTRUCTIONS)
    if not isinstance(order, list):
        raise ValueError("it has no arrays")
    return _filled(stream, _described(described), order)


def _described(found: object) -> dict[str, _Array]:
    if not isinstance(found, dict):
        raise ValueError("it has no arrays")
    arrays = {name: one for name, one in found.items() if isinstance(name, str) and isinstance(one, _Array)}
    if len(arrays) != len(found):
        raise ValueError("it has more than arrays")
    return arrays


def _filled(stream: BinaryIO, arrays: Mapping[str, _Array], order: list[object]) -> dict[str, NDArray[np.generic]]:
    kinds = {one.storage.key: one.storage.kind for one in arrays.values()}
    values: dict[object, NDArray[np.generic]] = {}
    for key in order:
        if not isinstance(key, str):
            raise ValueError("an array without a key")
        kind = np.dtype(kinds[key])
        size = int.from_bytes(stream.read(8), "little") * kind.itemsize
        raw = stream.read(size)
        if len(raw) != size:
            raise ValueError("it ends early")
        values[key] = np.frombuffer(raw, kind)
    return {name: _placed(values[one.storage.key], one) for name, one in arrays.items()}


def _placed(values: NDArray[np.generic], one: _Array) -> NDArray[np.generic]:
    """The array that lies among these values."""
    last = one.offset + sum((side - 1) * stride for side, stride in zip(one.shape, one.strides, strict=True))
    if one.offset < 0 or 0 in one.shape or last >= len(values):
        raise ValueError("an array beyond its values")
    apart = tuple(stride * values.itemsize for stride in one.strides)
    return np.ascontiguousarray(as_strided(values[one.offset :], one.shape, apart, writeable=False)).reshape(one.shape)


def _run(stream: BinaryIO, most: int) -> object:
    machine = _Machine()
    for number, (instruction, value, _) in enumerate(pickletools.genops(stream)):
        if number == most:
            raise ValueError(f"more than {most:,} instructions")
        machine.do(instruction.name, value)
    return machine.result()


class _Machine:
    """The stack machine and its memo."""

    def __init__(self) -> None:
        self._stack: list[object] = []
        self._seen: dict[int, object] = {}
        self._does: Mapping[str, Callable[[], None]] = {
            "MARK": lambda: self._stack.append(_Mark()),
            "EMPTY_DICT": lambda: self._stack.append({}),
            "EMPTY_LIST": lambda: self._stack.append([]),
            "EMPTY_TUPLE": lambda: self._stack.append(()),
            "NONE": lambda: self._stack.append(None),
            "NEWTRUE": lambda: self._stack.append(True),
            "NEWFALSE": lambda: self._stack.append(False),
            "TUPLE": lambda: self._stack.append(tuple(self._items())),
            "TUPLE1": lambda: self._stack.append((self._stack.pop(),)),
            "TUPLE2": lambda: self._stack.append(tuple(reversed((self._stack.pop(), self._stack.pop())))),
            "BINPERSID": self._storage,
            "REDUCE": self._called,
            "SETITEM": lambda: self._set([self._stack.pop(), self._stack.pop()][::-1]),
            "SETITEMS": lambda: self._set(self._items()),
            "APPEND": lambda: self._append([self._stack.pop()]),
            "APPENDS": lambda: self._append(self._items()),
            "BUILD": self._stack_pop,  # the versions of modules, beside their arrays
            "PROTO": lambda: None,
            "STOP": lambda: None,
        }

    def do(self, name: str, value: object) -> None:
        """Execute one instruction."""
        if name in ("BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1"):
            self._stack.append(value)
        elif name == "GLOBAL":
            self._stack.append(_Name(str(value)))
        elif name in ("BINPUT", "LONG_BINPUT") and isinstance(value, int):
            self._seen[value] = self._stack[-1]
        elif name in ("BINGET", "LONG_BINGET") and isinstance(value, int):
            self._stack.append(self._seen[value])
        elif name in self._does:
            self._does[name]()
        else:
            raise ValueError(f"the instruction {name}, which arrays do not need")

    def result(self) -> object:
        """The value on the stack at the end."""
        (found,) = self._stack
        return found

    def _stack_pop(self) -> None:
        self._stack.pop()

    def _items(self) -> list[object]:
        items: list[object] = []
        while not isinstance(top := self._stack.pop(), _Mark):
            items.append(top)
        return items[::-1]

    def _storage(self) -> None:
        match self._stack.pop():
            case ("storage", _Name(kind), str(key), str(), int(), *view) if kind in _KINDS and view in ([], [None]):
                self._stack.append(_Storage(key, _KINDS[kind]))
            case _:
                raise ValueError("values of another kind")

    def _called(self) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        match called, arguments:
            case _Name(name), () if name == _DICTIONARY:
                self._stack.append({})
            case _Name(name), (_Storage() as storage, int(offset), tuple(shape), tuple(strides), False, dict()) if (
                name == _REBUILD
            ):
                self._stack.append(_Array(storage, offset, _whole(shape), _whole(strides)))
            case _:
                raise ValueError("a call, which arrays do not need")

    def _set(self, items: list[object]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items of something other than a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str | int):
                raise ValueError("a key that is no text")
            target[key] = value

    def _append(self, items: list[object]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise ValueError("items of something other than a list")
        target += items


def _whole(numbers: tuple[object, ...]) -> tuple[int, ...]:
    found = tuple(one for one in numbers if isinstance(one, int) and one >= 0)
    if len(found) != len(numbers):
        raise ValueError("an array of no shape")
    return found
