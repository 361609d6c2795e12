"""The line rules of C4 (Raffel et al., https://jmlr.org/papers/v21/20-074.html): which lines go, what stays of a page.

A line goes where it has a word that is too long, no end mark, too few words, `javascript` or a policy phrase, in
this order; the first cause counts. From lines that stay, citations such as `[1]`, `[edit]` and the white space around
them go. That is an edit, the column `removed`; nothing here drops a page. The edited text has the line breaks of the
page, while the published code joins lines by newlines: a page that breaks lines otherwise differs in these alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.edits import SPANS, grown, spans_column
from winnow.filters.kernels import kernel, leaf
from winnow.filters.operators import TEXT, Assets, Kernel, Operator
from winnow.filters.words import sentences
from winnow.filters.words.classes import BREAK, DECIMAL, SPACE, Table, decode, flags_of, unicode_classes, width
from winnow.filters.words.passages import trimmed
from winnow.filters.words.spans import Texts, texts_of

_PHRASES = (
    "lorem ipsum",
    "javascript",
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
_SECONDS = np.zeros(256, np.uint8)  # by the first letter of a phrase its second: of each first letter there is one
_SECONDS[[ord(phrase[0]) for phrase in _PHRASES]] = [ord(phrase[1]) for phrase in _PHRASES]
_LOREM, _JAVASCRIPT, _POLICY, _CURLY = 1, 2, 4, 8
_CITATIONS = ("[edit]", "[citation needed]")  # beside digits in brackets

_COUNTS = (
    "lines",
    "kept_lines",
    "long_word_lines",
    "unterminated_lines",
    "short_lines",
    "javascript_lines",
    "policy_lines",
    "lorem_ipsum_lines",  # of those that reach the test: these and curly ones drop the page, not the line
    "curly_lines",
    "citations",  # that go from kept lines
    "words",  # after edits, between white space
)
(
    _LINES,
    _KEPT,
    _LONG_WORD,
    _UNTERMINATED,
    _SHORT,
    _JAVASCRIPT_LINES,
    _POLICY_LINES,
    _LOREM_LINES,
    _CURLY_LINES,
    _CITED,
    _WORDS,
) = range(len(_COUNTS))

_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in _COUNTS),
        pa.field("sentences", pa.int32()),
        pa.field("has_lorem_ipsum", pa.bool_()),
        pa.field("has_curly", pa.bool_()),
        pa.field("removed", SPANS),
    ]
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Config:
    """What makes a line go; the defaults are the paper's, as datatrove reads them."""

    min_line_words: int = 3  # the paper: 3; the TFDS builder: 5
    count_words: Literal["before_citations", "after_citations"] = "before_citations"  # TFDS: after
    max_word_chars: int = 1000
    end_marks: str = ".?!\"'"  # the paper and TFDS: without the apostrophe
    require_end_mark: bool = True  # FineWeb: false
    sentences: str = "spacy_en"  # how `sentences` are told apart, line by line


@leaf  # type: ignore[untyped-decorator]
def _space(text: Bytes, at: int, classes: Table) -> bool:
    """Whether a code point is white space; most are ASCII, which needs no table."""
    lead = text[at]
    if lead < 0x80:
        return bool(lead == 32 or 9 <= lead <= 13 or 28 <= lead <= 31)
    return bool(flags_of(classes, decode(text, at)) & SPACE != 0)


@leaf  # type: ignore[untyped-decorator]
def _line_end(text: Bytes, at: int, end: int, classes: Table) -> tuple[int, int]:
    """Where the line ends that begins here, and where the next one begins, as `str.splitlines` has it."""
    while at < end:
        lead = text[at]
        if lead < 0x80:
            if lead == 13 and at + 1 < end and text[at + 1] == 10:
                return at, at + 2
            if 10 <= lead <= 13 or 28 <= lead <= 30:
                return at, at + 1
        elif flags_of(classes, decode(text, at)) & BREAK:
            return at, at + width(lead)
        at += width(lead)
    return end, end


@leaf  # type: ignore[untyped-decorator]
def _starts_with(text: Bytes, at: int, end: int, phrases: Bytes, first: int, last: int) -> bool:
    """Whether the lower-cased text from here begins with the ASCII phrase that is this range of the phrases."""
    for number in range(first, last):
        if at >= end:
            return False
        byte, wanted = text[at], phrases[number]
        if 65 <= byte <= 90:
            byte |= np.uint8(32)
        if byte == wanted:
            at += 1
        elif wanted == 107 and at + 2 < end and byte == 0xE2 and text[at + 1] == 0x84 and text[at + 2] == 0xAA:
            at += 3  # the Kelvin sign is the one other character whose lower case is a letter of these phrases
        else:
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _found(text: Bytes, start: int, end: int, phrases: Bytes, ends: Ints, seconds: Bytes) -> int:
    """Which of the phrases a line holds, and whether it holds a curly bracket."""
    found = 0
    for at in range(start, end):
        byte = text[at] | np.uint8(32)
        if byte == 123 and text[at] == 123:
            found |= _CURLY
        elif seconds[byte] and at + 1 < end and text[at + 1] | np.uint8(32) == seconds[byte]:
            first = 0
            for number in range(len(ends)):
                if _starts_with(text, at, end, phrases, first, ends[number]):
                    found |= _LOREM if number == 0 else _JAVASCRIPT if number == 1 else _POLICY
                first = ends[number]
    return found


@leaf  # type: ignore[untyped-decorator]
def _citation(text: Bytes, at: int, end: int, classes: Table, marks: Bytes, mark_ends: Ints) -> int:
    """How many bytes the citation has that begins with this bracket; 0 if there is none."""
    first = 0
    for last in mark_ends:
        here, number = at, first
        while number < last and here < end and text[here] == marks[number]:
            here += 1
            number += 1
        if number == last:
            return here - at
        first = last
    here = at + 1
    while here < end and text[here] != 93:
        if not flags_of(classes, decode(text, here)) & DECIMAL:
            return 0
        here += width(text[here])
    return here + 1 - at if here < end else 0


@leaf  # type: ignore[untyped-decorator]
def _next_citation(text: Bytes, at: int, end: int, classes: Table, marks: Bytes, mark_ends: Ints) -> tuple[int, int]:
    """Where the next citation begins, and its bytes; the end and none if there is no more."""
    while at < end:
        if text[at] == 91:
            size = _citation(text, at, end, classes, marks, mark_ends)
            if size:
                return at, size
        at += 1
    return end, 0


@leaf  # type: ignore[untyped-decorator]
def _words(text: Bytes, start: int, end: int, classes: Table) -> tuple[int, int]:
    """How many words between white space, and the characters of the longest."""
    words = longest = length = 0
    at = start
    while at < end:
        if _space(text, at, classes):
            length = 0
        else:
            words += length == 0
            length += 1
            longest = max(longest, length)
        at += width(text[at])
    return words, longest


@leaf  # type: ignore[untyped-decorator]
def _last(text: Bytes, start: int, end: int) -> int:
    """Where the last code point of this range begins."""
    at = end - 1
    while at > start and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _left(text: Bytes, start: int, end: int, classes: Table) -> int:
    """Where the white space at the front of this range ends."""
    while start < end and _space(text, start, classes):
        start += width(text[start])
    return start


@leaf  # type: ignore[untyped-decorator]
def _right(text: Bytes, start: int, end: int, classes: Table) -> int:
    """Where the white space at the back of this range begins."""
    while end > start:
        at = _last(text, start, end)
        if not _space(text, at, classes):
            break
        end = at
    return end


@leaf  # type: ignore[untyped-decorator]
def _terminated(text: Bytes, start: int, end: int, marks: Ints) -> bool:
    """Whether a line ends in an end mark, and not in three dots."""
    if end == start:
        return False
    if end - start >= 3 and text[end - 1] == 46 and text[end - 2] == 46 and text[end - 3] == 46:
        return False
    last = decode(text, _last(text, start, end))
    for mark in marks:  # noqa: SIM110  (numba compiles no generators)
        if last == mark:
            return True
    return False


@kernel  # type: ignore[untyped-decorator]
def _clean(
    text: Bytes,
    offsets: Ints,
    classes: Table,
    phrases: Bytes,
    phrase_ends: Ints,
    marks: Bytes,
    mark_ends: Ints,
    end_marks: Ints,
    needs_end_mark: bool,
    min_words: int,
    after_citations: bool,
    max_word_chars: int,
) -> tuple[Ints, Ints, npt.NDArray[np.int32], Bytes, Ints, Ints]:
    """Counts of every page; its spans; and its kept lines without citations, one after the other."""
    rows = len(offsets) - 1
    counts = np.zeros((rows, len(_COUNTS)), np.int64)
    spans, used, bounds = np.empty((256, 2), np.int32), 0, np.zeros(rows + 1, np.int64)
    kept, filled = np.empty(offsets[rows] - offsets[0], np.uint8), 0
    line_ends, lines, pages = np.zeros(256, np.int64), 0, np.zeros(rows + 1, np.int64)
    for row in range(rows):
        begin, end = offsets[row], offsets[row + 1]
        cursor = begin  # what lies before it is decided
        solid = begin  # the end of the last kept character that is no white space; begin while there is none
        break_start = break_end = begin  # the line break after the last kept line
        at = begin
        while at < end:
            stop, after = _line_end(text, at, end, classes)
            start = _left(text, at, stop, classes)
            final = _right(text, start, stop, classes)
            at = after
            counts[row, _LINES] += 1
            words, longest = _words(text, start, final, classes)
            if longest > max_word_chars:
                counts[row, _LONG_WORD] += 1
                continue
            # What follows is undone, by not moving on, where the line does not stay.
            count, here, solid_here, copied, cited = used, cursor, solid, filled, 0
            if solid > begin:  # the break before this line
                spans = grown(spans, count + 1)
                if break_start > here:
                    spans[count, 0], spans[count, 1] = here - begin, break_start - begin
                    count += 1
                here = break_end
            piece = start
            while piece <= final:
                bracket, size = _next_citation(text, piece, final, classes, marks, mark_ends)
                kept[copied : copied + bracket - piece] = text[piece:bracket]
                copied += bracket - piece
                first = piece if solid_here > begin else _left(text, piece, bracket, classes)
                if first < bracket:
                    spans = grown(spans, count + 1)
                    if first > here:
                        spans[count, 0], spans[count, 1] = here - begin, first - begin
                        count += 1
                    here = bracket
                    solid_end = _right(text, first, bracket, classes)
                    if solid_end > first:
                        solid_here = solid_end
                if not size:
                    break
                cited += 1
                piece = bracket + size
            if cited:
                words_left, _ = _words(kept, filled, copied, classes)
            else:
                words_left = words
            if needs_end_mark and not _terminated(kept, filled, copied, end_marks):
                counts[row, _UNTERMINATED] += 1
                continue
            if (words_left if after_citations else words) < min_words:
                counts[row, _SHORT] += 1
                continue
            found = _found(kept, filled, copied, phrases, phrase_ends, _SECONDS)
            counts[row, _LOREM_LINES] += found & _LOREM != 0
            if found & _JAVASCRIPT:
                counts[row, _JAVASCRIPT_LINES] += 1
                continue
            counts[row, _CURLY_LINES] += found & _CURLY != 0
            if found & _POLICY:
                counts[row, _POLICY_LINES] += 1
                continue
            counts[row, _KEPT] += 1
            counts[row, _CITED] += cited
            counts[row, _WORDS] += words_left
            used, cursor, solid, filled = count, here, solid_here, copied
            break_start, break_end = (stop + 1 if after - stop == 2 and text[stop] == 13 else stop), after
            lines += 1
            if lines == len(line_ends):
                longer = np.empty(2 * lines, np.int64)
                longer[:lines] = line_ends
                line_ends = longer
            line_ends[lines] = filled
        while used > bounds[row] and spans[used - 1, 0] >= solid - begin:
            used -= 1  # the page ends where its last kept character does
        if solid < end:
            spans = grown(spans, used + 1)
            spans[used, 0], spans[used, 1] = solid - begin, end - begin
            used += 1
        bounds[row + 1] = used
        pages[row + 1] = lines
    return counts, bounds, spans, kept[:filled], line_ends[: lines + 1], pages


def _joined(phrases: Sequence[str]) -> tuple[Bytes, Ints]:
    ends = np.cumsum([len(phrase) for phrase in phrases], dtype=np.int64)
    return np.frombuffer("".join(phrases).encode(), np.uint8).copy(), ends


def _sentences(kept: Bytes, line_ends: Ints, pages: Ints, style: str) -> Ints:
    """How many sentences the kept lines of each page have, told apart line by line."""
    lines = pa.LargeStringArray.from_buffers(len(line_ends) - 1, pa.py_buffer(line_ends), pa.py_buffer(kept))
    of_lines = trimmed(sentences(lines, style)).documents  # one of white space alone does not count
    return of_lines[pages[1:]] - of_lines[pages[:-1]]


def c4(texts: Texts, config: Config) -> pa.RecordBatch:
    """The lines of every page that C4 would drop, and what would be left."""
    phrases, phrase_ends = _joined(_PHRASES)
    marks, mark_ends = _joined(_CITATIONS)
    counts, bounds, spans, kept, line_ends, pages = _clean(
        texts.buffer,
        texts.offsets,
        unicode_classes(),
        phrases,
        phrase_ends,
        marks,
        mark_ends,
        np.array([ord(mark) for mark in config.end_marks], dtype=np.int64),
        config.require_end_mark,
        config.min_line_words,
        config.count_words == "after_citations",
        config.max_word_chars,
    )
    columns = [
        *(pa.array(counts[:, number].astype(np.int32)) for number in range(len(_COUNTS))),
        pa.array(_sentences(kept, line_ends, pages, config.sentences).astype(np.int32)),
        pa.array(counts[:, _LOREM_LINES] > 0),
        pa.array(counts[:, _CURLY_LINES] > 0),
        spans_column(bounds, spans),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _measure(config: Config, batch: pa.RecordBatch) -> pa.RecordBatch:
    return c4(texts_of(batch.column(TEXT)), config)


def _load(config: Config, _assets: Assets) -> Kernel:
    return partial(_measure, config)


OPERATOR = Operator(
    name="text.c4",
    version=1,
    summary="C4: lines that go, as spans, and the sentences and words that stay",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=_load,
)
