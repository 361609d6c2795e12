"""Texts in composed form (NFC), in which measurements read them: `é` is one character, however a page writes it.

A kernel finds the texts that may not be composed; these few are composed by Python. What is found in a composed text
has its place in the text as it is written (`spans_as_written`).
"""

import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.classes import Table, decode, flags_by_point, flags_of, table_of, width
from winnow.filters.language.kernels.spans import Flags, texts_of
from winnow.filters.spans import SPANS, TYPED_SPANS
from winnow.schemas.kernels import kernel, leaf

FORM: Final = "NFC"
MOST_MARKS: Final = 128
"""A text with more marks on one letter stays as it is: putting them in order takes quadratic time."""
MOST_GROWTH: Final = 1.5
"""A text that becomes longer than this stays as it is, so that operators take the memory that they say."""

_CHANGES, _COMPOSES = 1 << 8, 1 << 9  # the bits below are the mark's class
_CLASS = (1 << 8) - 1
_FIRST_LEAD, _LAST_LEAD = 0x1100, 0x1112
_FIRST_VOWEL, _LAST_VOWEL = 0x1161, 0x1175
_FIRST_TAIL, _LAST_TAIL = 0x11A8, 0x11C2
_FIRST_SYLLABLE, _LAST_SYLLABLE, _TAILS = 0xAC00, 0xD7A3, 28
_LEAST_LEAD = 0xCC  # the first byte of U+0300; no character before it changes or is a mark
_DULL: Final = ((0x3400, 0xA000), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0x20000, 0x2F800), (0x2FA20, 0x110000))
_BLOCK: Final = 1 << 20  # bytes of a text that are composed at once


class _Rules(NamedTuple):
    """For each character whether it changes alone, may compose with one before it, or is a mark of a class."""

    table: Table
    blocks: npt.NDArray[np.bool_]  # whether one of 64 characters has a flag: those that share all bytes but the last
    pairs: npt.NDArray[np.int64]  # those that change together, sorted: the first shifted by 21, and the second
    joining: str  # characters before which a text cannot be divided
    changing: str  # characters that change alone


@dataclass(frozen=True, slots=True)
class ComposedTexts:
    """Texts in composed form."""

    texts: pa.LargeStringArray  # the array itself where nothing changed
    changed: npt.NDArray[np.int64]  # the rows that did


def composed_texts(texts: pa.LargeStringArray) -> ComposedTexts:
    """Every text in composed form; nulls stay."""
    seen = texts_of(texts)
    nothing = ComposedTexts(texts, np.zeros(0, np.int64))
    used = seen.buffer[seen.offsets[0] : seen.offsets[-1]]
    if not len(used) or used.max() < _LEAST_LEAD:
        return nothing
    rules = _rules()
    suspects = np.flatnonzero(_suspects(seen.buffer, seen.offsets, rules.table, rules.blocks, rules.pairs))
    changed, replaced = [], []
    for row in suspects.tolist():
        raw = seen.buffer[seen.offsets[row] : seen.offsets[row + 1]].tobytes()
        found = _composed(raw)
        if found != raw and len(found) <= MOST_GROWTH * len(raw):
            changed.append(row)
            replaced.append(found.decode())
    if not changed:
        return nothing
    places = np.arange(len(texts))
    places[changed] = len(texts) + np.arange(len(changed))
    both = pa.concat_arrays([texts.cast(pa.large_string()), pa.array(replaced, pa.large_string())])
    return ComposedTexts(both.take(pa.array(places)), np.array(changed, np.int64))


def spans_as_written(spans: pa.ListArray, texts: pa.LargeStringArray, changed: npt.NDArray[np.int64]) -> pa.ListArray:
    """Spans of composed texts as spans of the texts themselves; characters that were composed stay together.

    Args:
        spans: A column of `SPANS` or `TYPED_SPANS`.
        texts: The texts as they are written.
        changed: The rows whose composed texts differ from them.
    """
    rows = spans.to_pylist() if len(changed) else []
    moved = [row for row in changed.tolist() if rows[row]]
    for row in moved:
        place = _Places(texts[row].as_py())
        end, kept = 0, []
        for span in rows[row]:
            start, end = max(end, place.start(span["start"])), max(end, place.end(span["end"]))
            if start < end:
                kept.append({**span, "start": start, "end": end})
        rows[row] = kept
    return pa.array(rows, spans.type) if moved else spans


def has_spans(kind: pa.DataType) -> bool:
    """Whether a column of this type holds places in a text."""
    return bool(kind in (SPANS, TYPED_SPANS))


class _Places:
    """Where the characters of a composed text stand in the text as it is written, in bytes."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []  # of the pieces that change, in the composed text
        self._ends: list[int] = []
        self._own: list[tuple[int, int]] = []  # their ranges in the text itself
        at = shift = seen = 0
        for start, end in _changing_pieces(text):
            piece = text[start:end]
            at += len(text[seen:start].encode())
            own, new = len(piece.encode()), len(unicodedata.normalize(FORM, piece).encode())
            self._starts.append(at + shift)
            self._ends.append(at + shift + new)
            self._own.append((at, at + own))
            at, shift, seen = at + own, shift + new - own, end

    def start(self, place: int) -> int:
        """Where something begins that begins here in the composed text."""
        piece = bisect_right(self._starts, place) - 1
        if piece < 0:
            return place
        own_start, own_end = self._own[piece]
        return own_start if place < self._ends[piece] else place - self._ends[piece] + own_end

    def end(self, place: int) -> int:
        """Where something ends that ends here in the composed text."""
        piece = bisect_left(self._starts, place) - 1
        if piece < 0:
            return place
        own_end = self._own[piece][1]
        return own_end if place < self._ends[piece] else place - self._ends[piece] + own_end


def _composed(raw: bytes) -> bytes:
    """A text in composed form, made block by block, so that a long one takes little memory."""
    pieces, at = [], 0
    joining = frozenset(_rules().joining)
    while at < len(raw):
        end = at + _BLOCK
        while end < len(raw) and not _divides(raw[end : end + 4], joining):
            end += 1
        pieces.append(unicodedata.normalize(FORM, raw[at:end].decode()).encode())
        at = end
    return b"".join(pieces)


def _divides(after: bytes, joining: frozenset[str]) -> bool:
    """Whether a text can be divided before these bytes."""
    return after[0] & 0xC0 != 0x80 and after.decode("utf-8", "ignore")[0] not in joining


def _changing_pieces(text: str) -> Iterator[tuple[int, int]]:
    """The pieces of a text that may change: the text composed is its pieces composed."""
    joins, changes = _rules_by_point()
    end = 0
    for block in range(0, len(text), _BLOCK):
        points = np.frombuffer(text[block : block + _BLOCK].encode("utf-32-le"), "<u4")
        for place in (np.flatnonzero(joins[points] | changes[points]) + block).tolist():
            if place >= end:
                start = place - 1 if place > end and joins[ord(text[place])] else place
                end = place + 1
                while end < len(text) and joins[ord(text[end])]:
                    end += 1
                yield start, end


@lru_cache(maxsize=1)
def _rules_by_point() -> tuple[Flags, Flags]:
    """Whether each character joins the one before it, and whether it changes alone."""
    rules, found = _rules(), np.zeros((2, sys.maxunicode + 1), np.bool_)
    for flags, characters in zip(found, (rules.joining, rules.changing), strict=True):
        flags[np.frombuffer(characters.encode("utf-32-le"), "<u4")] = True
    return found[0], found[1]


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    """The rules, in the version of Unicode that words are made with, made once per process."""
    known = flags_by_point()
    flags = np.zeros(len(known), np.uint16)
    pairs, marked = [], []
    for point in _points():
        if not known[point]:
            continue
        character = chr(point)
        apart = unicodedata.normalize("NFD", character)
        flags[point] |= unicodedata.combining(apart[0])  # some are no mark themselves, and are nothing but marks apart
        if unicodedata.normalize(FORM, character) != character:
            flags[point] |= _CHANGES
        elif len(parts := _parts(character)) == 2:
            pairs.append(parts[0] << 21 | parts[1])
            flags[parts[1]] |= _COMPOSES
            if rank := unicodedata.combining(apart[-1]):
                marked.append((character, rank))
    # A mark that belongs before the one of its letter: ô with a dot below is ộ, which is made of ọ.
    ranked = [(chr(point), int(flags[point] & _CLASS)) for point in np.flatnonzero(flags & _COMPOSES).tolist()]
    pairs += [
        ord(letter) << 21 | ord(mark)
        for letter, last in marked
        for mark, rank in ranked
        if 0 < rank < last and unicodedata.normalize(FORM, letter + mark) != letter + mark
    ]
    for first, last in ((_FIRST_VOWEL, _LAST_VOWEL), (_FIRST_TAIL, _LAST_TAIL)):
        flags[first : last + 1] |= _COMPOSES
    joins = flags & (_CLASS | _COMPOSES) != 0
    joining, changing = ("".join(map(chr, np.flatnonzero(which).tolist())) for which in (joins, flags & _CHANGES))
    blocks = (flags.reshape(-1, 64) != 0).any(axis=1)
    return _Rules(table_of(flags), blocks, np.array(sorted(pairs), np.int64), joining, changing)


def _points() -> Iterator[int]:
    """The code points among which some are marks, change or compose; Hangul syllables are computed."""
    begins = (0xC0, *(last for _, last in _DULL))
    return chain.from_iterable(
        range(begin, end) for begin, end in zip(begins, [first for first, _ in _DULL] + [0x110000], strict=True)
    )


def _parts(character: str) -> list[int]:
    """The code points that compose to this one; none, or one, if it is not made of two."""
    found = unicodedata.decomposition(character)
    return [] if found.startswith("<") else [int(part, 16) for part in found.split()]


@leaf  # type: ignore[untyped-decorator]
def _compose(first: np.int64, second: np.int64, pairs: npt.NDArray[np.int64]) -> bool:
    """Whether two characters become one, or others."""
    if _FIRST_VOWEL <= second <= _LAST_VOWEL:
        return bool(_FIRST_LEAD <= first <= _LAST_LEAD)
    if _FIRST_TAIL <= second <= _LAST_TAIL:
        return bool(_FIRST_SYLLABLE <= first <= _LAST_SYLLABLE and (first - _FIRST_SYLLABLE) % _TAILS == 0)
    wanted = first << 21 | second
    at = np.searchsorted(pairs, wanted)
    return bool(at < len(pairs) and pairs[at] == wanted)


@leaf  # type: ignore[untyped-decorator]
def _letter_before(buffer: npt.NDArray[np.uint8], begin: int, at: int, table: Table) -> np.int64:
    """The last character before this place that is no mark; -1 if there is none."""
    while at > begin:
        at -= 1
        while at > begin and buffer[at] & 0xC0 == 0x80:
            at -= 1
        point = decode(buffer, at)
        if flags_of(table, point) & _CLASS == 0:
            return np.int64(point)
    return np.int64(-1)


@leaf  # type: ignore[untyped-decorator]
def _is_suspect(
    buffer: npt.NDArray[np.uint8],
    begin: int,
    end: int,
    table: Table,
    blocks: npt.NDArray[np.bool_],
    pairs: npt.NDArray[np.int64],
) -> bool:
    """Whether a text may not be composed: no text that is not has none of these signs (UAX 15, quick check)."""
    found = False
    at, after, last, marks = begin, begin - 1, np.int64(0), 0
    while at < end:
        lead = buffer[at]
        if lead < _LEAST_LEAD:
            at += 1
            continue
        size = width(lead)
        block = np.int64(lead) & (0x7F >> size)
        for place in range(1, size - 1):
            block = block << 6 | (np.int64(buffer[at + place]) & 0x3F)
        if not blocks[block]:
            at += size
            continue
        point = decode(buffer, at)
        flags = flags_of(table, point)
        if flags:
            rank = flags & _CLASS
            if at != after:
                last, marks = np.int64(0), 0
            if flags & _CHANGES or (rank and rank < last):
                found = True
            elif flags & _COMPOSES and not found:
                found = _compose(_letter_before(buffer, begin, at, table), point, pairs)
            if rank:
                marks += 1
                if marks > MOST_MARKS:
                    return False
                last, after = rank, at + size
        at += size
    return found


@kernel  # type: ignore[untyped-decorator]
def _suspects(
    buffer: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    table: Table,
    blocks: npt.NDArray[np.bool_],
    pairs: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Whether each text may not be composed."""
    found = np.zeros(len(offsets) - 1, np.bool_)
    for row in range(len(found)):
        found[row] = _is_suspect(buffer, offsets[row], offsets[row + 1], table, blocks, pairs)
    return found
