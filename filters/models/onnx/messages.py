"""Protobuf messages, read and written field by field: ONNX files are such messages, and no package is needed for them.

https://protobuf.dev/programming-guides/encoding: a message is fields one behind the other, each with a number, a kind
and a value; a nested message is a value of bytes.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Field", "Value", "fields", "packed_numbers", "text_of", "written"]

Value: TypeAlias = int | float | str | bytes

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_TEXT_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Attributes:
        number: Which one it is.
        value: A number, or the bytes of text or of a nested message; None for a number of fixed size.
        raw: The whole field as it is stored.
    """

    number: int
    value: int | memoryview | None
    raw: memoryview


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in its order; ValueError if it is damaged."""
    at, size = 0, len(message)
    while at < size:
        begin = at
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        value: int | memoryview | None = None
        if wire == _VARINT:
            value, at = _varint(message, at)
        elif wire == _BYTES:
            length, at = _varint(message, at)
            value = message[at : at + length]
            at += length
        elif wire in (_FIXED_64, _FIXED_32):
            at += 8 if wire == _FIXED_64 else 4
        else:
            raise ValueError(f"a field of kind {wire}")
        if (number == 0 and wire != _VARINT) or at > size:
            raise ValueError("a field that ends after its message")
        yield Field(number, value, message[begin:at])


def text_of(found: Iterable[Field], number: int) -> str:
    """A field that is text, cut to 1,000 bytes; the last one counts."""
    values = [one.value for one in found if one.number == number and isinstance(one.value, memoryview)]
    return bytes(values[-1][:_TEXT_BYTES]).decode("utf-8", "replace") if values else ""


def packed_numbers(values: memoryview) -> list[int]:
    """Numbers that one field holds."""
    found, at = [], 0
    while at < len(values):
        value, at = _varint(values, at)
        found.append(value)
    return found


def written(*pairs: tuple[int, Value]) -> bytes:
    """A message of these fields, given by number and value: floats are of 32 bits."""
    return b"".join(_written(number, value) for number, value in pairs)


def _written(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _number(number << 3 | _VARINT) + _number(value & (1 << 64) - 1)
    if isinstance(value, float):
        return _number(number << 3 | _FIXED_32) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | _BYTES) + _number(len(content)) + content


def _number(value: int) -> bytes:
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


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
