"""Search all texts for the fixed parts of formats in one pass; what must stand around them is tested where they are.

The four bytes at every position are looked up in a bit table; the few matches are compared in full. A format may read
only a bounded text around its fixed part, so the pass is linear.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.memory import eight_bytes
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.credentials.formats import Format
from winnow.schemas.kernels import kernel, leaf

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

_BITS = 18  # of the table of searched four-byte sequences: 32 KiB, which stay in the first cache
_SLOTS = 1 << 13
_KEY = 4
_MIX = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32 - _BITS)
_BLOCK = 1 << 12  # positions examined at a time
_PIECE = 4 << 20  # bytes of texts whose hits are held at once, as a text may consist of hits

_LITERAL, _LENGTH, _ANCHOR, _ROUTE = range(4)  # the columns of an entry


@dataclass(frozen=True, slots=True)
class Anchored:
    """A fixed text whose surroundings are tested not by a format but by the code that `route` names."""

    literal: str
    route: int


@dataclass(frozen=True, slots=True)
class Tables:
    """The searched formats and texts as arrays."""

    bits: Bytes
    slots: npt.NDArray[np.int32]  # by hash of four bytes: the first entry that begins with them, or -1
    keys: npt.NDArray[np.uint64]  # of each entry, sorted
    entries: Ints
    blob: Bytes  # the fixed texts
    formats: tuple["Surroundings", ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What must stand around the fixed part of a format."""

    before: tuple[tuple[bytes, int, int], ...]  # the characters of each run, the least and the most of them
    not_before: bytes
    tail: re.Pattern[bytes]

    @classmethod
    def of(cls, form: Format) -> "Surroundings":
        """Those of a format."""
        runs = ((re.escape(run.characters), run.least, run.most) for run in form.tail)
        tail = "".join(f"[{characters}]{{{least},{most}}}+" for characters, least, most in runs)
        behind = f"(?![{re.escape(form.not_behind)}])" if form.not_behind else ""
        before = tuple((run.characters.encode(), run.least, run.most) for run in form.before)
        return cls(before, form.not_before.encode(), re.compile((tail + behind).encode()))

    def around(self, text: memoryview, start: int, stop: int, begin: int, end: int) -> tuple[int, int] | None:
        """The start and end of the token whose fixed part is in this range, in a text from `begin` to `end`."""
        for characters, least, most in self.before:
            run = bytes(text[max(begin, start - most) : start])
            length = len(run) - len(run.rstrip(characters))
            if length < least:
                return None
            start -= length
        # Checked before its long runs are read: if it may not begin within such a run, none is read twice. A letter may
        # belong to an escape such as `\\n` in code or JSON.
        if start > begin and text[start - 1] in self.not_before:
            escape = bytes(text[max(begin, start - 2) : start])
            if escape not in (rb"\n", rb"\r", rb"\t"):
                return None
        tail = self.tail.match(text, stop, end)
        return (start, tail.end()) if tail else None


def tables_of(formats: Sequence[Format], anchored: Sequence[Anchored]) -> Tables:
    """Build the arrays for these formats and fixed texts."""
    blob = bytearray()
    keyed: list[tuple[bytes, tuple[int, int, int, int]]] = []

    def enter(literal: str, anchor: int, route: int, followers: Sequence[str]) -> None:
        at = len(blob)
        blob.extend(literal.encode())
        missing = max(0, _KEY - (len(literal.encode()) - anchor))
        for more in islice(product(*followers[:missing]), 1 << 14):
            key = (literal[anchor:] + "".join(more)).encode()[:_KEY]
            if len(key) < _KEY:
                raise ValueError(f"{literal!r} is too short to search for")
            keyed.append((key, (at, len(literal.encode()), anchor, route)))

    for number, form in enumerate(formats):
        followers = [run.characters for run in form.tail for _ in range(run.least)]
        for literal in form.literals:
            enter(literal, form.anchor, number, followers)
    for one in anchored:
        enter(one.literal, 0, ~one.route, ())

    keyed = sorted(set(keyed))
    keys = np.array([int.from_bytes(key, "little") for key, _ in keyed], np.uint64)
    order = np.argsort(keys, kind="stable")
    keys, entries = keys[order], np.array([entry for _, entry in keyed], np.int64)[order]
    bits, slots = np.zeros((1 << _BITS) // 8, np.uint8), np.full(_SLOTS, -1, np.int32)
    for place, key in enumerate(keys):
        if place and keys[place - 1] == key:
            continue
        hashed = int((key * _MIX & _LOW) >> _SHIFT)
        bits[hashed >> 3] |= np.uint8(1 << (hashed & 7))
        slot = hashed % _SLOTS
        while slots[slot] >= 0:
            slot = (slot + 1) % _SLOTS
        slots[slot] = place
    if 2 * len(np.unique(keys)) > _SLOTS:
        raise ValueError("the table of searched bytes is too full")
    return Tables(
        bits,
        slots,
        keys,
        entries,
        np.frombuffer(bytes(blob), np.uint8),
        tuple(map(Surroundings.of, formats)),
    )


@leaf  # type: ignore[untyped-decorator]
def _candidates(text: Bytes, first: int, last: int, bits: Bytes, places: Ints) -> int:
    """Collect the positions in this range whose next four bytes may match; eight bytes follow the last.

    Every position is written but counted only if it matches: a branch would be mispredicted too often.
    """
    count = 0
    for at in range(first, last):
        hashed = np.int64(((eight_bytes(text, at) & _LOW) * _MIX & _LOW) >> _SHIFT)
        places[count] = at
        count += (bits[hashed >> 3] >> (hashed & 7)) & 1
    return count


@kernel  # type: ignore[untyped-decorator]
def _anchors(
    text: Bytes, first: int, last: int, bits: Bytes, slots: npt.NDArray[np.int32], keys: npt.NDArray[np.uint64]
) -> Ints:
    """Every position in this range with four searched bytes, and the first entry that begins with them."""
    found, used = np.empty((256, 2), np.int64), 0
    places = np.empty(_BLOCK, np.int64)
    whole = max(first, min(last, len(text) - 4) - 3)  # before it, eight bytes are inside the buffer
    at = first
    while at < last - 3:
        if at < whole:
            stop = min(whole, at + _BLOCK)
            count = _candidates(text, at, stop, bits, places)
        else:
            stop, count = last - 3, 0
            for place in range(at, stop):
                places[count] = place
                count += 1
        at = stop
        for number in range(count):
            key = np.uint64(0)
            for place in range(_KEY):
                key |= np.uint64(text[places[number] + place]) << np.uint64(8 * place)
            slot = np.int64((key * _MIX & _LOW) >> _SHIFT) % _SLOTS
            while slots[slot] >= 0 and keys[slots[slot]] != key:
                slot = (slot + 1) % _SLOTS
            entry = slots[slot]  # the first that begins with these four bytes
            if entry >= 0:
                if used == len(found):
                    wider = np.empty((2 * used, 2), np.int64)
                    wider[:used] = found
                    found = wider
                found[used, 0], found[used, 1] = places[number], entry
                used += 1
    return found[:used]


@kernel  # type: ignore[untyped-decorator]
def _matched(
    text: Bytes, offsets: Ints, anchors: Ints, keys: npt.NDArray[np.uint64], entries: Ints, blob: Bytes
) -> Ints:
    """The anchors that are part of a complete fixed text, within one text."""
    found, used = np.empty((64, 4), np.int64), 0
    row = 0 if len(anchors) == 0 else np.searchsorted(offsets, anchors[0, 0], "right") - 1
    for number in range(len(anchors)):
        at, entry = anchors[number]
        while offsets[row + 1] <= at:
            row += 1
        key = keys[entry]
        while entry < len(keys) and keys[entry] == key:
            start, literal = at - entries[entry, _ANCHOR], entries[entry, _LITERAL]
            stop = start + entries[entry, _LENGTH]
            same = start >= offsets[row] and stop <= offsets[row + 1]
            for place in range(start, stop if same else start):
                same = same and text[place] == blob[literal + place - start]
            if same:
                if used == len(found):
                    wider = np.empty((2 * used, 4), np.int64)
                    wider[:used] = found
                    found = wider
                found[used, 0], found[used, 1], found[used, 2], found[used, 3] = (
                    row,
                    start,
                    stop,
                    entries[entry, _ROUTE],
                )
                used += 1
            entry += 1
    return found[:used]


def hits_in_pieces(texts: Texts, tables: Tables) -> Iterator[Ints]:
    """Like `scan`, but some megabytes of texts at a time, as matches may take more memory than the texts."""
    last = int(texts.offsets[-1])
    for first in range(int(texts.offsets[0]), last, _PIECE):
        stop = min(last, first + _PIECE + _KEY - 1)
        anchors = _anchors(texts.buffer, first, stop, tables.bits, tables.slots, tables.keys)
        yield _matched(texts.buffer, texts.offsets, anchors, tables.keys, tables.entries, tables.blob)


def scan(texts: Texts, tables: Tables) -> Ints:
    """All fixed texts, in text order: the text's number, the byte range in the buffer, and the format or ~route."""
    return np.concatenate([np.zeros((0, 4), np.int64), *hits_in_pieces(texts, tables)])
