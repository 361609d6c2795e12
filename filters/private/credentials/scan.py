"""Search all texts for the fixed parts of formats in one pass, and test the text around them.

The four bytes at every position are looked up in a bit table; the few matches are compared in full. A format may read
only a bounded text around its fixed part, so the pass is linear.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.memory import eight_bytes
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.credentials.formats import Format, Run
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
_TAIL, _TAIL_END, _BEFORE, _BEFORE_END, _NOT_BEFORE, _NOT_BEHIND = range(6)  # the columns of a format


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
    formats: Ints
    runs: Ints  # set, least, most
    sets: npt.NDArray[np.uint64]  # by byte: bits of the sets that contain it


@dataclass(frozen=True, slots=True)
class Hits:
    """Matches: text numbers, byte ranges of the buffer, and format numbers or, below 0, ~routes."""

    rows: Ints
    starts: Ints
    ends: Ints
    formats: Ints

    def only(self, chosen: npt.NDArray[np.bool_]) -> "Hits":
        """Select matches."""
        return Hits(self.rows[chosen], self.starts[chosen], self.ends[chosen], self.formats[chosen])


class _Sets:
    """Character sets, each with its bit."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[str], int] = {}

    def number(self, characters: str) -> int:
        found = self._numbers.setdefault(frozenset(characters), len(self._numbers))
        if found >= 64:
            raise ValueError("more character sets than bits")
        return found

    def table(self) -> npt.NDArray[np.uint64]:
        table = np.zeros(256, np.uint64)
        for characters, number in self._numbers.items():
            for character in characters:
                table[ord(character)] |= np.uint64(1 << number)
        return table


def tables_of(formats: Sequence[Format], anchored: Sequence[Anchored]) -> Tables:
    """Build the arrays for these formats and fixed texts."""
    sets, blob = _Sets(), bytearray()
    runs: list[tuple[int, int, int]] = []
    rows: list[tuple[int, ...]] = []
    keyed: list[tuple[bytes, tuple[int, int, int, int]]] = []

    def written(pieces: Sequence[Run]) -> tuple[int, int]:
        first = len(runs)
        runs.extend((sets.number(run.characters), run.least, run.most) for run in pieces)
        return first, len(runs)

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
        tail, before = written(form.tail), written(form.before)
        rows.append((*tail, *before, sets.number(form.not_before), sets.number(form.not_behind)))
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
        np.array(rows, np.int64).reshape(-1, 6),
        np.array(runs, np.int64).reshape(-1, 3),
        sets.table(),
    )


@leaf  # type: ignore[untyped-decorator]
def _same(text: Bytes, at: int, blob: Bytes, literal: int, length: int) -> bool:
    for place in range(length):  # noqa: SIM110, numba knows no generators here
        if text[at + place] != blob[literal + place]:
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _forwards(text: Bytes, at: int, end: int, runs: Ints, first: int, last: int, sets: npt.NDArray[np.uint64]) -> int:
    """The end of the runs that begin here; -1 if they do not match."""
    for number in range(first, last):
        bit = np.uint64(1) << np.uint64(runs[number, 0])
        stop = min(end, at + runs[number, 2])
        start = at
        while at < stop and sets[text[at]] & bit:
            at += 1
        if at - start < runs[number, 1]:
            return -1
    return at


@leaf  # type: ignore[untyped-decorator]
def _backwards(
    text: Bytes, at: int, begin: int, runs: Ints, first: int, last: int, sets: npt.NDArray[np.uint64]
) -> int:
    """The start of the runs that end here; -1 if they do not match."""
    for number in range(first, last):
        bit = np.uint64(1) << np.uint64(runs[number, 0])
        stop = max(begin, at - runs[number, 2])
        start = at
        while at > stop and sets[text[at - 1]] & bit:
            at -= 1
        if start - at < runs[number, 1]:
            return -1
    return at


@leaf  # type: ignore[untyped-decorator]
def _escape(text: Bytes, at: int, begin: int) -> bool:
    """Whether the preceding letter belongs to an escape such as `\\n` in code or JSON."""
    before = text[at - 1]
    return at - 2 >= begin and text[at - 2] == 92 and (before == 110 or before == 114 or before == 116)


@leaf  # type: ignore[untyped-decorator]
def _fitting(
    text: Bytes,
    start: int,
    stop: int,
    begin: int,
    end: int,
    form: Ints,
    runs: Ints,
    sets: npt.NDArray[np.uint64],
) -> tuple[int, int]:
    """The start and end of the token whose fixed part is in this range; -1 and -1 if there is none."""
    if form[_BEFORE] < form[_BEFORE_END]:
        start = _backwards(text, start, begin, runs, form[_BEFORE], form[_BEFORE_END], sets)
        if start < 0:
            return -1, -1
    # Checked before its long runs are read: if it may not begin within such a run, none is read twice.
    before = np.uint64(1) << np.uint64(form[_NOT_BEFORE])
    if start > begin and sets[text[start - 1]] & before and not _escape(text, start, begin):
        return -1, -1
    stop = _forwards(text, stop, end, runs, form[_TAIL], form[_TAIL_END], sets)
    behind = np.uint64(1) << np.uint64(form[_NOT_BEHIND])
    if stop < 0 or (stop < end and sets[text[stop]] & behind):
        return -1, -1
    return start, stop


@leaf  # type: ignore[untyped-decorator]
def _slot(key: np.uint64, slots: npt.NDArray[np.int32], keys: npt.NDArray[np.uint64]) -> int:
    """The first entry that begins with these four bytes, or -1."""
    slot = np.int64((key * _MIX & _LOW) >> _SHIFT) % _SLOTS
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) % _SLOTS
    return int(slots[slot])


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
            entry = _slot(key, slots, keys)
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
    text: Bytes,
    offsets: Ints,
    anchors: Ints,
    keys: npt.NDArray[np.uint64],
    entries: Ints,
    blob: Bytes,
    formats: Ints,
    runs: Ints,
    sets: npt.NDArray[np.uint64],
) -> Ints:
    """The anchors that are part of a complete fixed text, within one text, and whose format matches."""
    found, used = np.empty((64, 4), np.int64), 0
    row = 0 if len(anchors) == 0 else np.searchsorted(offsets, anchors[0, 0], "right") - 1
    for number in range(len(anchors)):
        at, entry = anchors[number]
        while offsets[row + 1] <= at:
            row += 1
        begin, end = offsets[row], offsets[row + 1]
        key = keys[entry]
        while entry < len(keys) and keys[entry] == key:
            start = at - entries[entry, _ANCHOR]
            stop = start + entries[entry, _LENGTH]
            route = entries[entry, _ROUTE]
            fits = start >= begin and stop <= end and _same(text, start, blob, entries[entry, _LITERAL], stop - start)
            if fits and route >= 0:
                start, stop = _fitting(text, start, stop, begin, end, formats[route], runs, sets)
                fits = start >= 0
            if fits:
                if used == len(found):
                    wider = np.empty((2 * used, 4), np.int64)
                    wider[:used] = found
                    found = wider
                found[used, 0], found[used, 1], found[used, 2], found[used, 3] = row, start, stop, route
                used += 1
            entry += 1
    return found[:used]


def scan_in_pieces(texts: Texts, tables: Tables) -> Iterator[Hits]:
    """Like `scan`, but some megabytes of texts at a time, as matches may take more memory than the texts."""
    text, offsets = texts.buffer, texts.offsets
    looked_for = (tables.keys, tables.entries, tables.blob, tables.formats, tables.runs, tables.sets)
    last = int(offsets[-1])
    for first in range(int(offsets[0]), last, _PIECE):
        stop = min(last, first + _PIECE + _KEY - 1)
        anchors = _anchors(text, first, stop, tables.bits, tables.slots, tables.keys)
        found = _matched(text, offsets, anchors, *looked_for)
        yield Hits(found[:, 0], found[:, 1], found[:, 2], found[:, 3])


def scan(texts: Texts, tables: Tables) -> Hits:
    """All matches of formats and other fixed texts, in text order."""
    pieces = list(scan_in_pieces(texts, tables))
    none = np.zeros(0, np.int64)
    return Hits(
        np.concatenate([none, *(piece.rows for piece in pieces)]),
        np.concatenate([none, *(piece.starts for piece in pieces)]),
        np.concatenate([none, *(piece.ends for piece in pieces)]),
        np.concatenate([none, *(piece.formats for piece in pieces)]),
    )
