"""Parses Thrift's compact protocol from untrusted bytes, as far as Parquet's footers and page headers need it.

Written by hand because pyarrow, the only other reader of these structures here, does not expose page headers and can
crash on a hostile footer (see `footer.py`). Depth and lengths are bounded before anything is allocated.
Invalid input raises: `CutOffError` where more bytes would help, `BadThriftError` otherwise.
"""

from collections.abc import Iterator
from typing import Final

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

MAX_DEPTH: Final = 16

_INTEGERS: Final = {I16: 0xFFFF, I32: 0xFFFFFFFF, I64: 0xFFFFFFFFFFFFFFFF}


class BadThriftError(Exception):
    """Bytes that are not a value of the expected kind."""


class CutOffError(BadThriftError):
    """A value that continues past the available bytes."""


class Compact:
    """Reads values one after another; unwanted ones are skipped without being built."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.at = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """The number and kind of each field of a struct; each must be read or skipped before the next."""
        number = 0
        while True:
            byte = self._byte()
            if byte == 0:
                return
            number = number + (byte >> 4) if byte >> 4 else _signed(self._varint())
            yield number, byte & 15

    def integer(self, kind: int) -> int:
        """An integer of this kind."""
        mask = _INTEGERS.get(kind)
        if mask is None:
            raise BadThriftError(f"kind {kind} is not an integer")
        return _signed(self._varint() & mask)  # excess bits are dropped, as in the C++ reader

    def text(self, kind: int) -> str:
        """A string; bytes that are not UTF-8 are replaced."""
        if kind != BINARY:
            raise BadThriftError(f"kind {kind} is not a string")
        length = self._varint()
        self._pass(length)
        return self._raw[self.at - length : self.at].decode("utf-8", "replace")

    def items(self, kind: int, of: int) -> int:
        """The number of items in the list that begins here, which must be of kind `of`."""
        if kind != LIST:
            raise BadThriftError(f"kind {kind} is not a list")
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        if count and head & 15 != of:
            raise BadThriftError(f"a list of kind {head & 15}, expected {of}")
        if count > len(self._raw) - self.at:  # an item takes at least one byte
            raise CutOffError("a list that goes on past the end")
        return count

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skips a field's value."""
        if depth > MAX_DEPTH:
            raise BadThriftError(f"nests deeper than {MAX_DEPTH}")
        if kind in (TRUE, FALSE):  # the kind is the value
            return
        if kind == BYTE:
            self._pass(1)
        elif kind in _INTEGERS:
            self._varint()
        elif kind == DOUBLE:
            self._pass(8)
        elif kind == BINARY:
            self._pass(self._varint())
        elif kind in (LIST, SET):
            head = self._byte()
            count = self._varint() if head >> 4 == 15 else head >> 4
            self._skip_items(count, (head & 15,), depth)
        elif kind == MAP:
            count = self._varint()
            if count:
                kinds = self._byte()
                self._skip_items(count, (kinds >> 4, kinds & 15), depth)
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise BadThriftError(f"there is no kind {kind}")

    def _skip_items(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if count > len(self._raw) - self.at:
            raise CutOffError("a list that goes on past the end")
        for _ in range(count):
            for kind in kinds:
                if kind in (TRUE, FALSE):  # inside a list a boolean takes one byte
                    self._pass(1)
                else:
                    self.skip(kind, depth + 1)

    def _byte(self) -> int:
        self._pass(1)
        return self._raw[self.at - 1]

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > len(self._raw):
            raise CutOffError("a value that goes on past the end")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise BadThriftError("a number of more than 64 bits")


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)
