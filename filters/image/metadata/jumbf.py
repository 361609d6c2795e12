"""Reads the boxes of a C2PA manifest store (JUMBF, ISO 19566-5), compressed ones too, within limits."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import brotli
import orjson

from winnow.filters.extras import required_package

_MOST_BOXES: Final = 4096
_MOST_DEPTH: Final = 16
_STEP: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """What a box holds: its kind, such as `cbor`, and bytes."""

    kind: bytes
    data: bytes

    def value(self) -> Any:
        """The value of CBOR or JSON; None if it cannot be read, or is neither."""
        if self.kind == b"json":
            try:
                return orjson.loads(self.data)
            except orjson.JSONDecodeError:
                return None
        if self.kind != b"cbor":
            return None
        cbor = required_package("reading C2PA assertions", "cbor2", "image")
        try:
            return cbor.loads(self.data, max_depth=64)
        except (cbor.CBORError, ValueError, TypeError, OverflowError, RecursionError):
            return None


@dataclass(slots=True)
class Box:
    """A box with a label, what it holds, and boxes inside it."""

    label: str = ""
    payload: bytes = b""  # behind its header: what the standard hashes
    contents: list[Content] = field(default_factory=list)
    boxes: list["Box"] = field(default_factory=list)

    def all(self) -> Iterator["Box"]:
        """The box and every one inside it, in order."""
        yield self
        for one in self.boxes:
            yield from one.all()

    def named(self, label: str) -> "Box | None":
        """The box inside it with this label."""
        return next((one for one in self.boxes if one.label == label), None)


@dataclass(frozen=True, slots=True)
class Store:
    """The boxes of a manifest store; not complete if a compressed one is damaged, or larger than is read."""

    root: Box
    complete: bool


def read_store(raw: bytes, most: int) -> Store:
    """The boxes of a store; those of a box that claims more than there is end there.

    Args:
        raw: The store.
        most: The bytes that compressed boxes may have together.
    """
    reading = _Reading(most)
    root = Box()
    reading.walk(raw, root, 0)
    return Store(root, reading.complete)


class _Reading:
    """What is left of the limits."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._looks = 0
        self.complete = True

    def walk(self, raw: bytes, box: Box, depth: int) -> None:
        """Reads the boxes in a box's payload."""
        at = 0
        while at + 8 <= len(raw) and self._looks < _MOST_BOXES:
            self._looks += 1
            size, kind = struct.unpack(">I4s", raw[at : at + 8])
            start = at + 8
            if size == 1 and start + 8 <= len(raw):
                (size,) = struct.unpack(">Q", raw[start : start + 8])
                start += 8
            stop = len(raw) if size == 0 else min(at + size, len(raw))
            if stop < start:
                return
            self._take(kind, raw[start:stop], box, depth)
            at = stop

    def _take(self, kind: bytes, payload: bytes, box: Box, depth: int) -> None:
        if kind == b"jumb" and depth < _MOST_DEPTH:
            inside = Box(payload=payload)
            box.boxes.append(inside)
            self.walk(payload, inside, depth + 1)
        elif kind == b"jumd":
            box.label = _label(payload)
        elif kind == b"brob" and depth < _MOST_DEPTH:
            inflated = self._inflated(payload[4:])  # behind the kind of the box that was compressed
            self.complete &= inflated is not None
            self.walk(inflated or b"", box, depth + 1)
        else:
            box.contents.append(Content(kind, payload))

    def _inflated(self, held: bytes) -> bytes | None:
        """What brotli compressed; None if it is damaged or larger than the room that is left."""
        decoder, out, offered = brotli.Decompressor(), bytearray(), held
        try:
            while not decoder.is_finished():
                step = decoder.process(offered, output_buffer_limit=_STEP)
                out += step
                if len(out) > self._room or (not offered and not step):
                    return None
                offered = b""
        except brotli.error:
            return None
        self._room -= len(out)
        return bytes(out)


def _label(description: bytes) -> str:
    """The label in a description box: behind a type of 16 bytes and a byte of switches, ended by zero."""
    if len(description) < 17 or not description[16] & 2:
        return ""
    return description[17:].split(b"\0", 1)[0].decode(errors="replace")
