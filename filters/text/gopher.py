"""Measures for Gopher's rules (Rae et al., https://arxiv.org/abs/2112.11446, A1): word shapes and repetition.

The paper does not define words, lines and shares of characters, and implementations differ. A style selects whose
definitions apply, so that a threshold means what it means there:

datatrove  GopherQualityFilter and GopherRepetitionFilter of datatrove 0.10.1. Shares of characters are of the text.
           Lines end at runs of newlines, paragraphs at two or more; all but the first of equal ones are duplicates.
           Of n-grams with 5 to 10 words the later ones count, from left to right and without overlap.
dolma      The tagger gopher_v2 of dolma 1.2. Words are split at whitespace, and shares of characters are of those in
           words; lines end at runs of newlines; every one of several equal lines and n-grams is a duplicate, the first
           too, and repeated n-grams are shares of the characters of all n-grams.
dolma_v1   Its older gopher_v1: each newline ends a line, so that the empty lines between paragraphs are equal lines.
paper      The paper read closely. Words are split at whitespace; lines and paragraphs are trimmed and those without
           text ignored; all but the first of equal ones are duplicates, and their shares are of lines and paragraphs.
           A word in any n-gram that occurs twice or more counts once.

Ratios of nothing are 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.classes import Table
from winnow.filters.language.kernels.spans import Words
from winnow.filters.language.passages.passages import Repeats, line_shapes, newline_runs, repeats, trimmed
from winnow.filters.language.passages.repetition import Vocabulary, grams, later_grams, vocabulary
from winnow.filters.language.passages.word_counts import (
    count_marks,
    count_words,
    kinds_of_characters,
)
from winnow.filters.language.thresholds.multilingual import ENGLISH_STOP_WORDS
from winnow.filters.language.words import lines, segment, texts_of
from winnow.filters.operators import TEXT, TextOperator
from winnow.schemas.errors import RecipeError

Style = Literal["datatrove", "dolma", "dolma_v1", "paper"]
Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

_BULLETS: Mapping[Style, str] = {
    "datatrove": "•-",
    "dolma": "*-",
    "dolma_v1": "*-",
    "paper": "•‣◦▪*-",  # the paper names none
}
_TOP = (2, 3, 4)
_DUPLICATED = (5, 6, 7, 8, 9, 10)

_COUNTS = ("characters", "words", "non_symbol_words", "stop_words")
_SHARES = (
    "mean_word_length",
    "median_word_length",
    "hash_ratio",
    "ellipsis_ratio",
    "symbol_word_ratio",
    "bullet_line_ratio",
    "ellipsis_line_ratio",
    "alpha_word_ratio",
    "dup_line_ratio",
    "dup_line_char_ratio",
    "dup_paragraph_ratio",
    "dup_paragraph_char_ratio",
    *(f"top_{n}gram" for n in _TOP),
    *(f"dup_{n}gram" for n in _DUPLICATED),
)
_SCHEMA = pa.schema(
    [*(pa.field(name, pa.int32()) for name in _COUNTS), *(pa.field(name, pa.float64()) for name in _SHARES)]
)


@dataclass(frozen=True, slots=True)
class Config:
    """Whose definitions apply, and what differs by language."""

    style: Style = "datatrove"
    words: str | None = (
        None  # a style of winnow.filters.language.words; by default the one that the style uses for English
    )
    stop_words: tuple[str, ...] = (
        ENGLISH_STOP_WORDS  # datatrove and paper count distinct ones, dolma counts occurrences
    )
    bullets: str | None = None  # characters that begin a list item; by default the style's

    def __post_init__(self) -> None:
        if self.style not in _BULLETS:
            raise RecipeError(f"text.gopher: unknown style {self.style!r}; expected one of {', '.join(_BULLETS)}")

    @property
    def word_style(self) -> str:
        """The style by which texts are split into words."""
        return self.words or ("spacy_en" if self.style == "datatrove" else "whitespace")

    @property
    def bullet_characters(self) -> str:
        """The characters that begin a list item."""
        return _BULLETS[self.style] if self.bullets is None else self.bullets


def _share(part: Counts, whole: Counts) -> Shares:
    return part / np.maximum(whole, 1)


def _measure(config: Config, kinds: Table, batch: pa.RecordBatch) -> pa.RecordBatch:
    texts = batch.column(TEXT)
    found_words = segment(texts, config.word_style)
    known = vocabulary(found_words)
    made = count_words(found_words, known, kinds, config.stop_words)
    found_marks = count_marks(texts_of(texts))
    solid = config.style == "datatrove"
    shares = {
        "mean_word_length": _share(
            made.solid_characters if solid else made.characters, made.solid_words if solid else made.words
        ),
        "median_word_length": made.median_length,
        "hash_ratio": _share(found_marks.hashes, made.words),
        "ellipsis_ratio": _share(found_marks.ellipses, made.words),
        "symbol_word_ratio": _share(made.marked_words, made.words),
        "alpha_word_ratio": _share(made.alphabetic_words, made.words),
        **_line_shares(config, texts, found_marks.characters, made.characters),
        **_gram_shares(config, found_words, known, found_marks.characters, made.characters),
    }
    counts = {
        "characters": found_marks.characters,
        "words": made.words,
        "non_symbol_words": made.solid_words,
        "stop_words": made.stop_words if config.style.startswith("dolma") else made.stop_kinds,
    }
    columns = [
        *(pa.array(counts[name].astype(np.int32)) for name in _COUNTS),
        *(pa.array(shares[name]) for name in _SHARES),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _line_shares(
    config: Config, texts: pa.LargeStringArray, characters: Counts, word_characters: Counts
) -> dict[str, Shares]:
    """Lists, unfinished lines, and lines and paragraphs that repeat."""
    column = texts_of(texts)
    paragraphs = newline_runs(column, 2, strip=True)
    if config.style == "datatrove":
        shaped, cut = lines(texts, "unicode"), newline_runs(column, 1, strip=False)
    elif config.style == "paper":
        shaped = cut = trimmed(lines(texts, "newline"))
        paragraphs = trimmed(paragraphs)
    else:
        shaped = cut = lines(texts, "newline") if config.style == "dolma_v1" else newline_runs(column, 1, strip=False)
    dolma = config.style.startswith("dolma")
    shapes = line_shapes(shaped, config.bullet_characters, strip=not dolma, dots=not dolma)
    shares = {
        "bullet_line_ratio": _share(shapes.bullets, shapes.lines),
        "ellipsis_line_ratio": _share(shapes.ellipses, shapes.lines),
    }
    for name, pieces in (("line", cut), ("paragraph", paragraphs)):
        found = repeats(pieces)
        whole = {"datatrove": characters, "paper": found.characters}.get(config.style, word_characters)
        shares[f"dup_{name}_ratio"] = _share(found.shared if dolma else found.later, found.pieces)
        shares[f"dup_{name}_char_ratio"] = _share(_repeated_characters(found, dolma), whole)
    return shares


def _repeated_characters(found: Repeats, first_too: bool) -> Counts:
    return found.shared_characters if first_too else found.later_characters


def _gram_shares(
    config: Config, words: Words, known: Vocabulary, characters: Counts, word_characters: Counts
) -> dict[str, Shares]:
    """The most common n-grams and those that repeat."""
    if config.style == "datatrove":
        found = grams(words, known, _TOP[-1])
        # The most common n-gram counts the spaces between its words, longer ones do not.
        shares = {
            f"top_{n}gram": _share(found.top_characters[:, n - 2] + (n - 1) * found.top_copies[:, n - 2], characters)
            for n in _TOP
        }
        later = later_grams(words, known, _DUPLICATED[0], _DUPLICATED[-1])
        return shares | {f"dup_{n}gram": _share(later[:, n - _DUPLICATED[0]], characters) for n in _DUPLICATED}
    found = grams(words, known, _DUPLICATED[-1])
    shares = {f"top_{n}gram": _share(found.top_characters[:, n - 2], word_characters) for n in _TOP}
    if config.style == "paper":
        covered = found.covered_characters
        return shares | {f"dup_{n}gram": _share(covered[:, n - 2], word_characters) for n in _DUPLICATED}
    return shares | {
        f"dup_{n}gram": _share(found.shared_characters[:, n - 2], found.characters[:, n - 2]) for n in _DUPLICATED
    }


OPERATOR = TextOperator(
    name="text.gopher",
    version=1,
    summary="Gopher: word shapes, stop words, lists, repeated lines, paragraphs and n-grams",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(_measure, config, kinds_of_characters()),
    memory=40,
)
