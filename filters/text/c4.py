"""The line rules of C4 (Raffel et al., https://jmlr.org/papers/v21/20-074.html): removed lines and the remaining page.

A line is removed if it has a word that is too long, no end mark, too few words, `javascript` or a policy phrase, in
this order; the first cause counts. From the remaining lines, citations such as `[1]` and `[edit]` are removed with the
white space around them. This is an edit, the column `removed`; nothing here drops a page. The edited text keeps the
page's line breaks, while the published code joins lines with newlines: other line breaks are the only difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.classes import Table, unicode_classes
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.language.passages.line_rules import (
    CURLY,
    JAVASCRIPT,
    LOREM,
    POLICY,
    counted_words,
    found_phrases,
    line_at,
    next_citation,
    terminated,
)
from winnow.filters.language.passages.passages import trimmed, without_space
from winnow.filters.language.words import segment, sentences
from winnow.filters.language.words.sentences import sentences_of_lines
from winnow.filters.operators import TEXT, TextOperator
from winnow.filters.spans import SPANS, grown, spans_column
from winnow.schemas.kernels import kernel, leaf
from winnow.schemas.recipe.checks import Between

_CITATIONS = ("[edit]", "[citation needed]")  # beside digits in brackets

_COUNTS = (
    "lines",
    "kept_lines",
    "long_word_lines",
    "unterminated_lines",
    "short_lines",
    "javascript_lines",
    "policy_lines",
    "lorem_ipsum_lines",  # among lines that reach the test: these and curly brackets drop the page, not the line
    "curly_lines",
    "citations",  # removed from kept lines
    "words",  # after edits, split at white space
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
    """When a line is removed; the defaults are the paper's, as datatrove reads them."""

    min_line_words: Annotated[int, Between(0, 1_000_000)] = 3  # the paper: 3; the TFDS builder: 5
    count_words: Literal["before_citations", "after_citations"] = "before_citations"  # TFDS: after
    max_word_chars: Annotated[int, Between(0, 1_000_000)] = 1000
    end_marks: str = ".?!\"'"  # the paper and TFDS: without the apostrophe
    require_end_mark: bool = True  # FineWeb: false
    sentences: str = "spacy_en"  # how each line is split into sentences


@leaf  # type: ignore[untyped-decorator]
def _fate(text: Bytes, start: int, end: int, enough: bool, needs_end_mark: bool, end_marks: Ints, counts: Ints) -> bool:
    """Whether a line stays, ignoring citations; otherwise the cause is counted."""
    if needs_end_mark and not terminated(text, start, end, end_marks):
        counts[_UNTERMINATED] += 1
        return False
    if not enough:
        counts[_SHORT] += 1
        return False
    found = found_phrases(text, start, end)
    counts[_LOREM_LINES] += found & LOREM != 0
    if found & JAVASCRIPT:
        counts[_JAVASCRIPT_LINES] += 1
        return False
    counts[_CURLY_LINES] += found & CURLY != 0
    if found & POLICY:
        counts[_POLICY_LINES] += 1
        return False
    return True


@kernel  # type: ignore[untyped-decorator]
def _clean(
    text: Bytes,
    offsets: Ints,
    classes: Table,
    marks: Bytes,
    mark_ends: Ints,
    end_marks: Ints,
    needs_end_mark: bool,
    min_words: int,
    after_citations: bool,
    max_word_chars: int,
) -> tuple[Ints, Ints, npt.NDArray[np.int32], Bytes, Ints, Ints]:
    """Counts of every page; its spans; its kept lines without citations.

    A kept line is the bytes between two integers: of the text, or, where there were citations, ~place of `kept`.
    """
    rows = len(offsets) - 1
    counts = np.zeros((rows, len(_COUNTS)), np.int64)
    spans, used, bounds = np.empty((256, 2), np.int32), 0, np.zeros(rows + 1, np.int64)
    kept, filled = np.empty(offsets[rows] - offsets[0], np.uint8), 0
    places, lines, pages = np.empty((256, 2), np.int64), 0, np.zeros(rows + 1, np.int64)
    for row in range(rows):
        begin, end = offsets[row], offsets[row + 1]
        cursor = begin  # everything before it is decided
        solid = begin  # the end of the last kept character that is no white space; begin while there is none
        break_start = break_end = begin  # the line break after the last kept line
        at = begin
        while at < end:
            stop, after, start, final, words, longest, bracketed = line_at(text, at, end, classes)
            at = after
            counts[row, _LINES] += 1
            if longest > max_word_chars and counted_words(text, start, final, classes)[1] > max_word_chars:
                counts[row, _LONG_WORD] += 1
                continue
            # If the line does not stay, the following is undone by not advancing.
            count, here, solid_here, copied, cited = used, cursor, solid, filled, 0
            if solid > begin:  # the break before this line
                spans = grown(spans, count + 1)
                if break_start > here:
                    spans[count, 0], spans[count, 1] = here - begin, break_start - begin
                    count += 1
                here = break_end
            piece = start
            while piece <= final:
                bracket, size = final, 0
                if bracketed:
                    bracket, size = next_citation(text, piece, final, classes, marks, mark_ends)
                if size or cited:
                    kept[copied : copied + bracket - piece] = text[piece:bracket]
                    copied += bracket - piece
                bare, solid_end = without_space(text, piece, bracket, classes)
                first = piece if solid_here > begin else bare
                if first < bracket:
                    spans = grown(spans, count + 1)
                    if first > here:
                        spans[count, 0], spans[count, 1] = here - begin, first - begin
                        count += 1
                    here = bracket
                    if solid_end > bare:
                        solid_here = solid_end
                if not size:
                    break
                cited += 1
                piece = bracket + size
            words_left = counted_words(kept, filled, copied, classes)[0] if cited else words
            enough = (words_left if after_citations else words) >= min_words
            if cited:
                stays = _fate(kept, filled, copied, enough, needs_end_mark, end_marks, counts[row])
            else:
                stays = _fate(text, start, final, enough, needs_end_mark, end_marks, counts[row])
            if not stays:
                continue
            counts[row, _KEPT] += 1
            counts[row, _CITED] += cited
            counts[row, _WORDS] += words_left
            if lines == len(places):
                longer = np.empty((2 * lines, 2), np.int64)
                longer[:lines] = places
                places = longer
            places[lines, 0], places[lines, 1] = (~filled, ~copied) if cited else (start, final)
            lines += 1
            used, cursor, solid, filled = count, here, solid_here, copied
            break_start, break_end = (stop + 1 if after - stop == 2 and text[stop] == 13 else stop), after
        while used > bounds[row] and spans[used - 1, 0] >= solid - begin:
            used -= 1  # the page ends where its last kept character does
        if solid < end:
            spans = grown(spans, used + 1)
            spans[used, 0], spans[used, 1] = solid - begin, end - begin
            used += 1
        bounds[row + 1] = used
        pages[row + 1] = lines
    return counts, bounds, spans, kept[:filled], places[:lines], pages


def _joined(phrases: Sequence[str]) -> tuple[Bytes, Ints]:
    ends = np.cumsum([len(phrase) for phrase in phrases], dtype=np.int64)
    return np.frombuffer("".join(phrases).encode(), np.uint8).copy(), ends


def _sentences(batch: Texts, kept: Bytes, places: Ints, pages: Ints, style: str) -> Ints:
    """How many sentences the kept lines of each page have, split line by line.

    No token crosses a line break, so a line has the tokens of its page, which other operators use too; only lines that
    had citations are tokenized again.
    """
    found = sentences_of_lines(segment(batch.array, style), pages, places)
    cited = np.flatnonzero(places[:, 0] < 0)
    if len(cited):
        ends = np.concatenate([[0], ~places[cited, 1]])
        lines = pa.LargeStringArray.from_buffers(len(cited), pa.py_buffer(ends), pa.py_buffer(kept))
        counts = np.diff(trimmed(sentences(lines, style)).documents)  # one of white space alone does not count
        np.add.at(found, np.searchsorted(pages, cited, side="right") - 1, counts)
    return found


def c4(texts: Texts, config: Config) -> pa.RecordBatch:
    """The lines that C4 would remove from every page, and measures of the rest."""
    marks, mark_ends = _joined(_CITATIONS)
    counts, bounds, spans, kept, places, pages = _clean(
        texts.buffer,
        texts.offsets,
        unicode_classes(),
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
        pa.array(_sentences(texts, kept, places, pages, config.sentences).astype(np.int32)),
        pa.array(counts[:, _LOREM_LINES] > 0),
        pa.array(counts[:, _CURLY_LINES] > 0),
        spans_column(bounds, spans),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _measure(config: Config, batch: pa.RecordBatch) -> pa.RecordBatch:
    return c4(texts_of(batch.column(TEXT)), config)


OPERATOR = TextOperator(
    name="text.c4",
    version=1,
    summary="C4: removed lines as spans, and the sentences and words that remain",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(_measure, config),
    memory=28,
)
