"""Words of the lists, planted as people write them to be read and as they write them not to be found."""

from collections.abc import Iterator
from functools import cache

import pyarrow as pa

from benchmarks.safety_parity.made_up import Planted
from winnow.filters.language.folding import fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.lexicons.lexicon import Entries, Lexicon, compiled
from winnow.filters.language.lexicons.lists import read_lists
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.identity import digest

__all__ = ["ASSET", "found_inside", "listed_words"]

ASSET = "wordlists.core"
_ZERO_WIDTH = "\u200b"
_LOOKALIKES = str.maketrans("aceopxyi", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456")  # Cyrillic
_WIDE = str.maketrans({chr(point): chr(point + 0xFEE0) for point in range(0x21, 0x7F)})
_MOST_WORDS = 8  # of a text of nothing else


def listed_words(language: str, number: int) -> Iterator[Planted]:
    """One word of the language's list in several spellings, and a text of nothing but such words."""
    words = _words(language)
    if not words:
        return
    word = words[number % len(words)]
    yield Planted(word)
    yield Planted(word.upper(), "capitals") if word.upper() != word else Planted(f"“{word}”!", "in quotes")
    yield Planted(_ZERO_WIDTH.join(word), "zero-width")
    wide, alike = word.translate(_WIDE), word.translate(_LOOKALIKES)
    if wide != word:
        yield Planted(wide, "full-width")
    if alike != word:
        yield Planted(alike, "look-alikes")
    if len(word) > 3:
        yield Planted(f"{word[:2]}.{word[2:]}", "with a dot inside")
    several = dict.fromkeys(words[(number + 7 * step) % len(words)] for step in range(_MOST_WORDS))
    yield Planted(", ".join(several), "nothing else", alone=True)


def found_inside(language: str | None, text: str) -> bool:
    """Whether the letters of any entry of the language's list stand anywhere in a text, as naive filters look."""
    entries = _entries(language or "und")
    if entries is None:
        return False
    folded = fold(texts_of(pa.array([text], pa.large_string())), case=True).texts.array[0].as_py()
    return any(word in folded for word in entries)


@cache
def _lexicon() -> Lexicon:
    return compiled(read_lists(AssetFiles().path(ASSET)))


def _own(code: str) -> Entries | None:
    found = _lexicon().set_of(code)
    return None if found < 0 else _lexicon().entries[found]


@cache
def _words(language: str) -> tuple[str, ...]:
    """The single words of a list, in an order of their own, so that the first are of no particular kind."""
    own = _own(language)
    if own is None:
        return ()
    single = [phrase[0].decode() for phrase in own.phrases if len(phrase) == 1]
    words = {*single, *(word.decode() for word in own.unspaced)}
    return tuple(sorted(words, key=lambda word: digest("planted word", language, word)))


@cache
def _entries(code: str) -> tuple[str, ...] | None:
    own = _own(code)
    if own is None:
        return None
    return tuple(b" ".join(phrase).decode() for phrase in own.phrases) + tuple(one.decode() for one in own.unspaced)
