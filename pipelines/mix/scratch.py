"""Columns of candidates in a folder of the plan, or in memory where few are planned; a reader holds one shard.

What the inventory finds of a shard is one object: names, types and places of its columns, then their values. What is
added later is an object for each column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError

HELD_BYTES: Final = 128 << 20
"""What a plan made in one process has in memory: the columns of some two million candidates."""

_HEAD_BYTES: Final = 8  # in front: the type of a column, or the length of the list of columns; values stay aligned
_LIST_BYTES: Final = 2048  # more than the list of columns takes, as a rule
_MOST_LISTS: Final = 1024  # that are not read again
_OBJECT_BYTES: Final = 256  # what an object in memory takes beside its content

Places: TypeAlias = dict[str, tuple[str, int, int]]
"""The type, the place and the bytes of each column in an object."""


@dataclass(frozen=True)
class Scratch:
    """Arrays by shard number and name, in a folder that belongs to one plan and is removed with it. Picklable."""

    objects: ObjectStore
    folder: str
    _lists: dict[int, Places] = field(default_factory=dict, compare=False, repr=False)

    def put(self, shard: int, columns: Mapping[str, NDArray[Any]]) -> None:
        """Store the first arrays of a shard, as one object."""
        listed: Places = {}
        content = bytearray()
        for name, values in columns.items():
            listed[name] = (values.dtype.str, len(content), values.nbytes)
            content += values.tobytes() + bytes(-values.nbytes % _HEAD_BYTES)
        head = orjson.dumps(listed)
        head += b" " * (-len(head) % _HEAD_BYTES)
        self._put(self._first(shard), len(head).to_bytes(_HEAD_BYTES, "little") + head + content)

    def save(self, shard: int, name: str, values: NDArray[Any]) -> None:
        """Store one more array, replacing any of the same name."""
        self._put(self._path(shard, name), values.dtype.str.encode().ljust(_HEAD_BYTES) + values.tobytes())

    def load(self, shard: int, name: str) -> NDArray[Any]:
        """Load an array, which is not changed."""
        place = self._places(shard).get(name)
        if place is None:
            raw = self._read(self._path(shard, name))
            return np.frombuffer(raw, raw[:_HEAD_BYTES].decode().strip(), offset=_HEAD_BYTES)
        dtype, at, length = place
        return np.frombuffer(self._read(self._first(shard), at, length) if length else b"", dtype)

    def columns(self, shard: int, names: Sequence[str]) -> list[NDArray[Any]]:
        """Load several arrays of a shard."""
        return [self.load(shard, name) for name in names]

    def _places(self, shard: int) -> Places:
        """Where the first arrays of a shard are."""
        found = self._lists.get(shard)
        if found is None:
            raw = self._read(self._first(shard), 0, _LIST_BYTES)
            begin = _HEAD_BYTES + int.from_bytes(raw[:_HEAD_BYTES], "little")
            if begin > len(raw):
                raw = self._read(self._first(shard), 0, begin)
            listed: Places = orjson.loads(raw[_HEAD_BYTES:begin])
            found = {name: (dtype, begin + at, length) for name, (dtype, at, length) in listed.items()}
            if len(self._lists) < _MOST_LISTS:
                self._lists[shard] = found
        return found

    def _first(self, shard: int) -> str:
        return f"{self.folder}/{shard:08d}"

    def _path(self, shard: int, name: str) -> str:
        return f"{self.folder}/{name}/{shard:08d}"

    def _read(self, path: str, at: int = 0, length: int | None = None) -> bytes:
        return self.objects.read(path, at, length)

    def _put(self, path: str, raw: bytes) -> None:
        try:
            self.objects.put(path, raw)
        except OSError as error:
            raise StageError(
                f"planning: {error.strerror or error}: temporary files are in {self.objects.root}; free some space "
                "there, or set TMPDIR to another folder"
            ) from None


class Memory:
    """What a process holds of a folder, while there is room. Threads may share it."""

    def __init__(self, room: int = HELD_BYTES) -> None:
        self._left = room
        self.is_full = False  # something found no room
        self._held: dict[str, bytes] = {}
        self._lock = Lock()

    def get(self, path: str) -> bytes | None:
        """What is held of an object."""
        return self._held.get(path)

    def hold(self, path: str, raw: bytes) -> bool:
        """Replaces an object; False if there is no room."""
        with self._lock:
            before = self._held.pop(path, None)
            if before is not None:
                self._left += len(before) + _OBJECT_BYTES
            if len(raw) + _OBJECT_BYTES > self._left:
                self.is_full = True
                return False
            self._held[path] = raw
            self._left -= len(raw) + _OBJECT_BYTES
        return True


@dataclass(frozen=True)
class HeldScratch(Scratch):
    """Arrays that one process has in memory while there is room, and on its disk beyond."""

    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    def bring(self, there: Scratch, shard: int) -> None:
        """Take over the first arrays of a shard; those that lie here already are not read once memory is full."""
        is_here = (there.objects, there.folder) == (self.objects, self.folder)
        if is_here and self.memory.is_full:
            return
        path, raw = self._first(shard), there._read(there._first(shard))
        if not self.memory.hold(path, raw) and not is_here:
            super()._put(path, raw)

    def _read(self, path: str, at: int = 0, length: int | None = None) -> bytes:
        held = self.memory.get(path)
        if held is None:
            return super()._read(path, at, length)
        return held if length is None else held[at : at + length]

    def _put(self, path: str, raw: bytes) -> None:
        if not self.memory.hold(path, raw):
            super()._put(path, raw)
