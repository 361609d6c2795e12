"""Lines and paragraphs: splitting at newlines, repeated pieces, and how lines begin and end."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import SPACE, decode, flags_of, unicode_classes, width
from winnow.filters.language.kernels.ranges import code_points, document_seed, first_equals
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.schemas.kernels import kernel

__all__ = ["LineShapes", "Repeats", "code_points", "line_shapes", "newline_runs", "repeats", "trimmed"]

Counts = npt.NDArray[np.int64]

_NEWLINE = 10
_ELLIPSIS = 0xE280A6  # …
_DOTS = 0x2E2E2E


class Repeats(NamedTuple):
    """Per text: its pieces and repeated pieces, counted in pieces and in code points."""

    pieces: Counts
    characters: Counts
    later: Counts  # pieces equal to an earlier one
    later_characters: Counts
    shared: Counts  # pieces equal to any other one
    shared_characters: Counts


class LineShapes(NamedTuple):
    """Per text: its lines, those that begin with a bullet and those that end with an ellipsis."""

    lines: Counts
    bullets: Counts
    ellipses: Counts


def newline_runs(texts: Texts, least: int, *, strip: bool) -> Words:
    r"""The pieces of `re.split(r"\n{least,}", text)`, of `text.strip()` if asked: an empty text is one empty piece."""
    return Words(texts.buffer, *_runs(texts.buffer, texts.offsets, least, strip, unicode_classes()))


def trimmed(pieces: Words) -> Words:
    """The pieces without surrounding whitespace; empty ones are dropped."""
    return Words(
        pieces.buffer, *_trimmed(pieces.buffer, pieces.documents, pieces.starts, pieces.ends, unicode_classes())
    )


def repeats(pieces: Words) -> Repeats:
    """How much of every text repeats; pieces with the same bytes are equal."""
    return Repeats(*_repeats(pieces.buffer, pieces.documents, pieces.starts, pieces.ends))


def line_shapes(lines: Words, bullets: str, *, strip: bool, dots: bool) -> LineShapes:
    """Count lines that begin with one of the bullets or end with an ellipsis: `…`, and with `dots` also `...`.

    With `strip`, whitespace around lines is ignored.
    """
    marks = np.array([ord(bullet) for bullet in bullets], np.int64)
    arguments = (lines.buffer, lines.documents, lines.starts, lines.ends)
    return LineShapes(np.diff(lines.documents), *_shapes(*arguments, marks, strip, dots, unicode_classes()))


@kernel
def without_space(buffer, start, end, classes):  # type: ignore[no-untyped-def]
    """The range without whitespace at both ends, as in `str.strip`."""
    while start < end and flags_of(classes, decode(buffer, start)) & SPACE:
        start += width(buffer[start])
    while end > start:
        last = end - 1
        while last > start and (buffer[last] & 0xC0) == 0x80:
            last -= 1
        if not flags_of(classes, decode(buffer, last)) & SPACE:
            break
        end = last
    return start, end


@kernel
def _runs(buffer, offsets, least, strip, classes):  # type: ignore[no-untyped-def]
    documents = np.zeros(len(offsets), np.int64)
    room = len(offsets)
    for byte in buffer[offsets[0] : offsets[-1]]:
        room += byte == _NEWLINE
    starts = np.empty(room, np.int64)
    ends = np.empty(room, np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        if strip:
            at, end = without_space(buffer, at, end, classes)
        begun = at
        while at < end:
            if buffer[at] != _NEWLINE:
                at += 1
                continue
            run = at
            while at < end and buffer[at] == _NEWLINE:
                at += 1
            if at - run >= least:
                starts[count] = begun
                ends[count] = run
                count += 1
                begun = at
        starts[count] = begun
        ends[count] = end
        count += 1
        documents[document + 1] = count
    return documents, starts[:count].copy(), ends[:count].copy()


@kernel
def _trimmed(buffer, documents, starts, ends, classes):  # type: ignore[no-untyped-def]
    kept = np.zeros(len(documents), np.int64)
    inner = np.empty(len(starts), np.int64)
    outer = np.empty(len(starts), np.int64)
    count = 0
    for document in range(len(documents) - 1):
        for piece in range(documents[document], documents[document + 1]):
            start, end = without_space(buffer, starts[piece], ends[piece], classes)
            if start < end:
                inner[count] = start
                outer[count] = end
                count += 1
        kept[document + 1] = count
    return kept, inner[:count].copy(), outer[:count].copy()


@kernel
def _repeats(buffer, documents, starts, ends):  # type: ignore[no-untyped-def]
    texts = len(documents) - 1
    pieces = np.zeros(texts, np.int64)
    characters = np.zeros(texts, np.int64)
    later = np.zeros(texts, np.int64)
    later_characters = np.zeros(texts, np.int64)
    shared = np.zeros(texts, np.int64)
    shared_characters = np.zeros(texts, np.int64)
    for document in range(texts):
        first, last = documents[document], documents[document + 1]
        count = last - first
        pieces[document] = count
        if count == 0:
            continue
        seed = document_seed(buffer, starts[first], ends[last - 1])
        equals = first_equals(buffer, starts[first:last], ends[first:last], seed)
        copies = np.zeros(count, np.int32)
        for piece in range(count):
            copies[equals[piece]] += 1
            length = code_points(buffer, starts[first + piece], ends[first + piece])
            characters[document] += length
            if equals[piece] != piece:
                later[document] += 1
                later_characters[document] += length
        for piece in range(count):
            if equals[piece] == piece and copies[piece] > 1:
                length = code_points(buffer, starts[first + piece], ends[first + piece])
                shared[document] += copies[piece]
                shared_characters[document] += copies[piece] * length
    return pieces, characters, later, later_characters, shared, shared_characters


@kernel
def _shapes(buffer, documents, starts, ends, bullets, strip, dots, classes):  # type: ignore[no-untyped-def]
    texts = len(documents) - 1
    begun = np.zeros(texts, np.int64)
    ended = np.zeros(texts, np.int64)
    for document in range(texts):
        for line in range(documents[document], documents[document + 1]):
            start, end = starts[line], ends[line]
            if strip:
                start, end = without_space(buffer, start, end, classes)
            if start == end:
                continue
            point = decode(buffer, start)
            for bullet in bullets:
                if point == bullet:
                    begun[document] += 1
                    break
            if end - start >= 3:
                three = np.int64(buffer[end - 3]) << 16 | np.int64(buffer[end - 2]) << 8 | buffer[end - 1]
                ended[document] += three == _ELLIPSIS or (dots and three == _DOTS)
    return begun, ended
