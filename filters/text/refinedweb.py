"""The line and page rules of RefinedWeb (Penedo et al., https://arxiv.org/abs/2306.01116) as DCLM restates them.

RefinedWeb published no code; this measures what baselines/mappers of mlfoundations/dclm does. A line is removed if too
many of its characters are upper-case or digits, if it is a counter (`3 likes`), or if it has one word; from short lines
`items in cart`, a trailing `Read more...` and a leading `Sign-in` are removed. These are the spans of `removed`; the
share of words in them is a measure, as are the words, symbols, bullets and stop words of the whole page.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.classes import (
    ALPHA,
    SPACE,
    Table,
    character_set,
    decode,
    flags_of,
    unicode_classes,
    width,
)
from winnow.filters.language.kernels.spans import Texts, Words, texts_of
from winnow.filters.language.passages.passages import without_space
from winnow.filters.language.passages.refined_lines import LINE_COUNTS, clean_lines
from winnow.filters.language.words import lines
from winnow.filters.operators import TEXT, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.schemas.kernels import kernel, leaf
from winnow.schemas.recipe.checks import Between

_COUNTERS = (
    "likes",
    "shares",
    "comments",
    "retweets",
    "reposts",
    "quotes",
    "bookmarks",
    "upvotes",
    "downvotes",
    "downloads",
    "views",
    "followers",
)
_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")

_CUT = np.array([ord(letter) for letter in "items in cart"], dtype=np.int64)
_LAST = np.array([*(ord(letter) for letter in "read more"), -1, -1, -1], dtype=np.int64)  # DCLM's dots match anything
_FIRST = np.array([ord(letter) for letter in "sign-in"], dtype=np.int64)

_RATIOS = (
    "removed_word_ratio",  # below 0 where stripping exposes a word behind non-ASCII white space
    "mean_word_chars",  # of words split at white space, like the next two
    "symbol_ratio",  # `#`, `...`, `. . .` and `…`
    "non_alpha_ratio",
    "bullet_ratio",  # of lines that are not blank, like the next
    "ellipsis_ratio",
)
_TALLIES = 8
_PLAIN, _CHARS, _SYMBOLS, _NON_ALPHA, _SOLID, _BULLETS, _ELLIPSES, _STOPPED = range(_TALLIES)

_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in LINE_COUNTS),
        pa.field("stop_words", pa.int32()),  # occurrences of the eight stop words
        *(pa.field(name, pa.float64()) for name in _RATIOS),
        pa.field("removed", SPANS),
    ]
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Config:
    """When a line is removed; the defaults are DCLM's."""

    max_uppercase_share: Annotated[float, Between(0, 1)] = 0.5
    max_digit_share: Annotated[float, Between(0, 1)] = 0.999999
    min_line_words: Annotated[int, Between(0, 1_000_000)] = 2
    max_substring_words: Annotated[int, Between(0, 1_000_000)] = 10  # longer lines keep these substrings


@lru_cache(maxsize=1)
def _alphanumeric() -> Table:
    return character_set(chr(point) for point in range(0x110000) if chr(point).isalnum())


@leaf  # type: ignore[untyped-decorator]
def _dots(text: Bytes, at: int, end: int) -> tuple[bool, bool, bool]:
    """Whether `...`, `. . .` and `…` are at this position."""
    three = end - at >= 3 and text[at] == 46 and text[at + 1] == 46 and text[at + 2] == 46
    five = end - at >= 5 and text[at] == 46 and text[at + 2] == 46 and text[at + 4] == 46
    five = five and text[at + 1] == 32 and text[at + 3] == 32
    one = end - at >= 3 and text[at] == 0xE2 and text[at + 1] == 0x80 and text[at + 2] == 0xA6
    return three, five, one


@leaf  # type: ignore[untyped-decorator]
def _is_stop_word(text: Bytes, start: int, end: int, names: Bytes, name_ends: Ints) -> bool:
    first = 0
    for last in name_ends:
        if end - start == last - first:
            at = start
            while at < end and text[at] | np.uint8(32) == names[first + at - start] and text[at] & 0x40:
                at += 1
            if at == end:
                return True
        first = last
    return False


@kernel  # type: ignore[untyped-decorator]
def _tally(text: Bytes, offsets: Ints, classes: Table, names: Bytes, name_ends: Ints) -> Ints:
    """Statistics of every page's words and symbols."""
    tallies = np.zeros((len(offsets) - 1, _TALLIES), np.int64)
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        three_from = five_from = word = at
        alpha = False
        while at <= end:
            space, step = True, 1
            if at < end:
                byte = text[at]
                if byte == 35:
                    tallies[row, _SYMBOLS] += 1
                elif byte == 46 or byte == 0xE2:
                    three, five, one = _dots(text, at, end)
                    tallies[row, _SYMBOLS] += one
                    if three and at >= three_from:  # occurrences of one kind do not overlap
                        tallies[row, _SYMBOLS] += 1
                        three_from = at + 3
                    if five and at >= five_from:
                        tallies[row, _SYMBOLS] += 1
                        five_from = at + 5
                step = width(byte)
                flags = flags_of(classes, decode(text, at))
                space = flags & SPACE != 0
                if not space:
                    alpha |= flags & ALPHA != 0
                    tallies[row, _CHARS] += 1
            if space:
                if word < at:
                    tallies[row, _PLAIN] += 1
                    tallies[row, _NON_ALPHA] += not alpha
                    if at - word <= 4:
                        tallies[row, _STOPPED] += _is_stop_word(text, word, at, names, name_ends)
                word, alpha = at + step, False
            at += step
    return tallies


@kernel  # type: ignore[untyped-decorator]
def _tally_lines(text: Bytes, pages: Ints, starts: Ints, ends: Ints, classes: Table, tallies: Ints) -> None:
    """How many lines are not blank, begin with a bullet, or end with an ellipsis."""
    for row in range(len(pages) - 1):
        for line in range(pages[row], pages[row + 1]):
            start, end = without_space(text, starts[line], ends[line], classes)
            if start == end:
                continue
            tallies[row, _SOLID] += 1
            point = decode(text, start)
            tallies[row, _BULLETS] += point == 0x25CF or point == 0x2022 or point == 42 or point == 45  # ● • * -
            three, five, one = False, False, False
            if end - start >= 3:
                three, _, one = _dots(text, end - 3, end)
            if end - start >= 5:
                _, five, _ = _dots(text, end - 5, end)
            tallies[row, _ELLIPSES] += three or five or one


def _joined(names: tuple[str, ...]) -> tuple[Bytes, Ints]:
    ends = np.cumsum([len(name) for name in names], dtype=np.int64)
    return np.frombuffer("".join(names).encode(), np.uint8).copy(), ends


def _ratio(part: Ints, whole: Ints) -> npt.NDArray[np.float64]:
    """A ratio; 0 if there is nothing."""
    return np.where(whole > 0, part / np.maximum(whole, 1), 0.0)


def refinedweb(texts: Texts, cut: Words, config: Config) -> pa.RecordBatch:
    """The lines that RefinedWeb would drop or shorten on every page, and measures of the original page."""
    classes, alphanumeric = unicode_classes(), _alphanumeric()
    counts, bounds, spans = clean_lines(
        texts.buffer,
        texts.offsets,
        cut.documents,
        cut.starts,
        cut.ends,
        classes,
        alphanumeric,
        *_joined(_COUNTERS),
        (_CUT, _LAST, _FIRST),
        config.max_uppercase_share,
        config.max_digit_share,
        config.min_line_words,
        config.max_substring_words,
    )
    tallies = _tally(texts.buffer, texts.offsets, classes, *_joined(_STOP_WORDS))
    _tally_lines(texts.buffer, cut.documents, cut.starts, cut.ends, classes, tallies)
    words, kept = (counts[:, LINE_COUNTS.index(name)] for name in ("words", "kept_words"))
    ratios = (
        _ratio(words - kept, words),
        _ratio(tallies[:, _CHARS], tallies[:, _PLAIN]),
        _ratio(tallies[:, _SYMBOLS], tallies[:, _PLAIN]),
        _ratio(tallies[:, _NON_ALPHA], tallies[:, _PLAIN]),
        _ratio(tallies[:, _BULLETS], tallies[:, _SOLID]),
        _ratio(tallies[:, _ELLIPSES], tallies[:, _SOLID]),
    )
    columns = [
        *(pa.array(counts[:, number].astype(np.int32)) for number in range(len(LINE_COUNTS))),
        pa.array(tallies[:, _STOPPED].astype(np.int32)),
        *(pa.array(ratio) for ratio in ratios),
        spans_column(bounds, spans),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _measure(config: Config, batch: pa.RecordBatch) -> pa.RecordBatch:
    texts = batch.column(TEXT)
    return refinedweb(texts_of(texts), lines(texts, "newline"), config)


OPERATOR = TextOperator(
    name="text.refinedweb",
    version=1,
    summary="RefinedWeb: removed lines as spans, their share of words, and page measures",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(_measure, config),
    memory=32,
)
