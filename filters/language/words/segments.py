"""Words, sentences and lines of a column by style, computed once per batch for all operators."""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Literal

import pyarrow as pa

from winnow.filters.language.kernels.spans import Texts, Words, texts_of
from winnow.filters.language.words.pieces import split_breaks, split_lines, split_whitespace
from winnow.filters.language.words.rules import languages
from winnow.filters.language.words.sentences import split_sentences
from winnow.filters.language.words.tokens import split_tokens
from winnow.filters.language.words.unspaced import split_unicode
from winnow.schemas.errors import RecipeError

Breaks = Literal["newline", "unicode"]

_LOCK = Lock()
_REMEMBERED = 2  # the text itself, and one derived from it, such as C4's without the removed lines
_slots: dict[tuple[int, ...], tuple[Texts, dict[str, Words]]] = {}  # the oldest first


def styles() -> tuple[str, ...]:
    """Every style of `segment`."""
    return ("whitespace", "unicode", *(f"spacy_{language}" for language in languages()))


def segment(texts: pa.LargeStringArray | pa.ChunkedArray, style: str) -> Words:
    """The words of every text in a style; calls with the same array return the same object.

    `whitespace` is `str.split()`, `spacy_en` what spaCy's blank English gives without its whitespace tokens (and so for
    every language that has rules), `unicode` words without a language, by character in scripts without spaces.
    """
    if style == "whitespace":
        return _remembered(texts, style, split_whitespace)
    if style == "unicode":
        return _remembered(texts, style, split_unicode)
    if not style.startswith("spacy_"):
        raise RecipeError(f"unknown style of words {style!r} (expected one of {', '.join(styles())})")
    return _remembered(texts, style, partial(split_tokens, language=style.removeprefix("spacy_")))


def lines(texts: pa.LargeStringArray | pa.ChunkedArray, breaks: Breaks = "newline") -> Words:
    r"""The lines of every text: those of `str.split("\n")`, or with `unicode` those of `str.splitlines()`."""
    return _remembered(texts, f"lines {breaks}", split_lines if breaks == "newline" else split_breaks)


def sentences(texts: pa.LargeStringArray | pa.ChunkedArray, style: str) -> Words:
    """The sentences of every text by the tokens of a `spacy_...` style; they are contiguous and cover the text."""
    words = segment(texts, style)
    return _remembered(texts, f"sentences {style}", partial(split_sentences, words=words))


def _remembered(texts: pa.LargeStringArray | pa.ChunkedArray, name: str, split: Callable[[Texts], Words]) -> Words:
    """The cached or new result for this array. Two arrays are cached and kept alive, so addresses are not reused."""
    column = texts_of(texts)
    key = (
        *(buffer.address if buffer is not None else 0 for buffer in column.array.buffers()),
        column.array.offset,
        len(column.array),
    )
    with _LOCK:
        column, found = _slots.pop(key) if key in _slots else (column, {})
        _slots[key] = (column, found)
        while len(_slots) > _REMEMBERED:
            del _slots[next(iter(_slots))]
    if name not in found:
        found[name] = split(column)
    return found[name]
