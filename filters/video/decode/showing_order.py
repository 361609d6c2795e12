"""In which order the frames of an H.264 stream are shown, from the headers of their slices (ITU-T H.264, 8.2.1).

Containers without times of showing keep frames in the order of decoding, and FFmpeg gives each the time at which it is
decoded. Where a stream resets its order in another way than by an IDR picture, frames before and after may be mixed for
once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

Place: TypeAlias = tuple[int, int]
"""Where a frame comes: the number of IDR pictures so far, and its order from there."""

_HIGH: Final = frozenset({100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135})
_SLICES: Final = frozenset({1, 2, 5})
_IDR, _SEQUENCE, _PICTURE = 5, 7, 8  # types of units
_HEADER_BYTES: Final = 64  # of a slice, far more than is read
_SET_BYTES: Final = 4096  # of a parameter set: with lists of scales, some hundreds
_MOST_SEQUENCES, _MOST_PICTURES = 31, 255  # the largest numbers of parameter sets
_MOST_UNITS: Final = 64  # of a packet, before its first slice


@dataclass(frozen=True, slots=True)
class _Sequence:
    """What a sequence parameter set says of slices' headers."""

    has_planes: bool
    frame_number_bits: int
    kind: int  # of the order: 0 counts pictures, 2 is the order of decoding
    order_bits: int
    has_fields: bool


class ShowingOrder:
    """Tells the place of each frame, given all packets in the order of decoding.

    Args:
        extradata: The decoder's configuration, as the container has it.
    """

    def __init__(self, extradata: bytes | None) -> None:
        self._sequences: dict[int, _Sequence] = {}
        self._pictures: dict[int, int] = {}  # the sequence that each picture parameter set belongs to
        self._length_bytes = 0  # before each unit; 0 where a code begins them
        self._period = 0
        self._before = (0, 0)  # high and low part of the order of the last picture that others are made from
        if extradata and extradata[0] == 1 and len(extradata) > 6:
            self._length_bytes = (extradata[4] & 3) + 1
            for unit in _configured(extradata):
                self._learn(unit)
        elif extradata:
            for unit in _after_codes(extradata):
                self._learn(unit)

    def place(self, packet: bytes) -> Place | None:
        """That of the frame in the next packet; None if its header cannot be read."""
        units = _after_lengths(packet, self._length_bytes) if self._length_bytes else _after_codes(packet)
        for _, unit in zip(range(_MOST_UNITS), units, strict=False):
            if unit and unit[0] & 31 in _SLICES:
                try:
                    return self._of_slice(unit)
                except (IndexError, KeyError):
                    return None
            self._learn(unit)
        return None

    def _learn(self, unit: bytes) -> None:
        """Remembers a parameter set."""
        if not unit or unit[0] & 31 not in (_SEQUENCE, _PICTURE):
            return
        bits = _Bits(unit[1:_SET_BYTES])
        try:
            if unit[0] & 31 == _SEQUENCE:
                number, found = _sequence(bits)
                if number <= _MOST_SEQUENCES:
                    self._sequences[number] = found
            elif (number := bits.count()) <= _MOST_PICTURES:
                self._pictures[number] = bits.count()
        except IndexError:  # cut or damaged
            return

    def _of_slice(self, unit: bytes) -> Place:
        bits = _Bits(unit[1:_HEADER_BYTES])
        bits.count()  # its first macroblock
        bits.count()  # its type
        sequence = self._sequences[self._pictures[bits.count()]]
        is_idr = unit[0] & 31 == _IDR
        if sequence.has_planes:
            bits.take(2)
        bits.take(sequence.frame_number_bits)
        if sequence.has_fields and bits.take(1):
            bits.take(1)  # the bottom one
        if is_idr:
            bits.count()  # its number
            self._period += 1
            self._before = 0, 0
        if sequence.kind != 0:
            self._before = self._before[0] + 1, 0  # a stream of kind 1 with reordered frames has not been seen
            return self._period, self._before[0]
        low, whole = bits.take(sequence.order_bits), 1 << sequence.order_bits
        high, last = self._before
        if low < last and last - low >= whole // 2:
            high += whole
        elif low > last and low - last > whole // 2:
            high -= whole
        if unit[0] & 0x60:  # others are made from it
            self._before = high, low
        return self._period, high + low


class _Bits:
    """Reads bits of a unit, without the bytes that keep codes from appearing in it."""

    def __init__(self, content: bytes) -> None:
        content = content.replace(b"\0\0\3", b"\0\0")
        self._number, self._left = int.from_bytes(content, "big"), 8 * len(content)

    def take(self, count: int) -> int:
        """The next bits, as a number."""
        self._left -= count
        if self._left < 0:
            raise IndexError("cut")
        return (self._number >> self._left) & ((1 << count) - 1)

    def count(self) -> int:
        """An unsigned Exp-Golomb code."""
        zeros = 0
        while not self.take(1):
            zeros += 1
            if zeros > 31:
                raise IndexError("no code")
        return (1 << zeros) - 1 + self.take(zeros)

    def difference(self) -> int:
        """A signed one."""
        found = self.count()
        return (found + 1) // 2 if found & 1 else -found // 2


def _sequence(bits: _Bits) -> tuple[int, _Sequence]:
    """A sequence parameter set and its number."""
    profile = bits.take(8)
    bits.take(16)  # constraints and level
    number = bits.count()
    has_planes = False
    if profile in _HIGH:
        chroma = bits.count()
        has_planes = chroma == 3 and bool(bits.take(1))
        bits.count()  # depth of luma
        bits.count()  # and of chroma
        bits.take(1)
        if bits.take(1):
            for at in range(12 if chroma == 3 else 8):
                if bits.take(1):
                    _skip_scales(bits, 16 if at < 6 else 64)
    frame_number_bits = bits.count() + 4
    kind = bits.count()
    order_bits = 0
    if kind == 0:
        order_bits = bits.count() + 4
    elif kind == 1:
        bits.take(1)
        bits.difference()
        bits.difference()
        for _ in range(min(bits.count(), 255)):
            bits.difference()
    bits.count()  # frames that others are made from
    bits.take(1)
    bits.count()  # width
    bits.count()  # height
    return number, _Sequence(has_planes, min(frame_number_bits, 16), kind, min(order_bits, 16), not bits.take(1))


def _skip_scales(bits: _Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.difference()) % 256
        last = following or last


def _configured(extradata: bytes) -> Iterator[bytes]:
    """The parameter sets of an `avcC` box."""
    at = 5
    for mask in (31, 255):
        count, at = extradata[at] & mask if at < len(extradata) else 0, at + 1
        for _ in range(count):
            size = int.from_bytes(extradata[at : at + 2], "big")
            yield extradata[at + 2 : at + 2 + size]
            at += 2 + size


def _after_codes(content: bytes) -> Iterator[bytes]:
    """Units that begin behind codes, each with some bytes of what follows: no more is read of any."""
    at = content.find(b"\0\0\1")
    while at >= 0:
        yield content[at + 3 : at + 3 + _SET_BYTES]
        at = content.find(b"\0\0\1", at + 3)


def _after_lengths(content: bytes, length_bytes: int) -> Iterator[bytes]:
    at = 0
    while at + length_bytes < len(content):
        size = int.from_bytes(content[at : at + length_bytes], "big")
        at += length_bytes
        yield content[at : at + min(size, _SET_BYTES)]
        at += size
