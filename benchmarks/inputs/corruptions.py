"""Text made worse in ways that crawls are: shuffled words, wrong encoding, errors of scanning, spam.

Each kind is a plain function of a text and a source of chance; `corrupted` takes the chance from a hash of a seed, the
kind and the text's name, so that the same text is always spoilt in the same way.
"""

import unicodedata
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from winnow.filters.language.words import segment
from winnow.schemas.identity import digest

SHUFFLED, MOJIBAKE, SCANNED, SPAM = "shuffled", "mojibake", "scanned", "spam"
_CHANGED_SHARE = 0.08  # of the characters: a poor scan
_DROPPED, _PARTED = 0.15, 0.25  # of the changes: a character lost, and a space put in (what is between them)
_REACH = 4  # code points: letters that look alike are neighbours in most scripts
_LOOKALIKES: Final = {
    **{"l": "1", "1": "l", "I": "l", "o": "0", "0": "O", "O": "0", "e": "c", "c": "e", "h": "b", "b": "h"},
    **{"n": "u", "u": "n", "m": "rn", "w": "vv", "d": "cl", "t": "f", "f": "t", "i": "j", "s": "5", "5": "S"},
    **{"a": "o", "g": "9", "S": "5", "B": "8", "8": "B", "r": "t", "v": "y", "y": "v", ".": ",", ",": "."},
}
_PHRASES: Final = (
    *("buy now", "best price", "free shipping", "click here", "100% guaranteed", "casino bonus", "limited offer"),
    *("cheap pills online", "no prescription", "earn money fast", "hot deals", "online casino", "crypto profit"),
    *("lowest rates", "act now", "order today", "weight loss", "free trial", "call now", "payday loans", "win big"),
)
_SPAM_WORDS, _SPAM_LETTERS = 6, 4  # of the text: what the spam pretends to sell


def shuffled(text: str, chance: np.random.Generator) -> str:
    """The words in another order; what stands between them stays where it is."""
    words, gaps = words_of(text)
    order = chance.permutation(len(words))
    return gaps[0] + "".join(words[place] + gap for place, gap in zip(order, gaps[1:], strict=True))


def mojibake(text: str, _chance: np.random.Generator) -> str:
    """The bytes of UTF-8 read as Windows-1252, as browsers do: the five that it leaves free are Latin-1's."""
    return "".join(
        bytes((byte,)).decode("latin-1" if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else "cp1252")
        for byte in text.encode()
    )


def scanned(text: str, chance: np.random.Generator) -> str:
    """Characters taken for others that look like them, lost, or torn apart."""
    changed = chance.random(len(text)) < _CHANGED_SHARE
    how = chance.random(len(text))
    steps = chance.integers(1, _REACH + 1, len(text)) * chance.choice((-1, 1), len(text))
    made = []
    for place, character in enumerate(text):  # some hundred characters
        if not changed[place] or character == "\n":
            made.append(character)
        elif how[place] < _DROPPED or character == " ":
            continue
        elif how[place] < _PARTED:
            made.append(character + " ")
        else:
            made.append(_LOOKALIKES.get(character) or _neighbour(character, int(steps[place])))
    return "".join(made)


def spam(text: str, chance: np.random.Generator) -> str:
    """Offers around a few of the text's own words, again and again, as long as the text."""
    words = sorted(set(words_of(text)[0]))
    own = [word for word in words if len(word) >= _SPAM_LETTERS] or words or ["offer"]
    keys = [own[place] for place in chance.permutation(len(own))[:_SPAM_WORDS]]
    lines: list[str] = []
    while sum(map(len, lines)) + len(lines) < len(text):
        first, second = (keys[place] for place in chance.integers(0, len(keys), 2))
        phrase, other = (_PHRASES[place] for place in chance.integers(0, len(_PHRASES), 2))
        price, site = int(chance.integers(3, 99)), int(chance.integers(10, 9999))
        lines.append(
            (
                f"{first} {phrase}! {second} {first} ${price}.99 http://{site}.example/{price}",
                f"{phrase.upper()} >>> {first} {second} {other} www.deals{site}.example",
                f"{first}, {second}, {first} {second}, {phrase} {first}, {other} {second}",
            )[int(chance.integers(0, 3))]
        )
    return "\n".join(lines)[: len(text)]


KINDS: Final[dict[str, Callable[[str, np.random.Generator], str]]] = {
    SHUFFLED: shuffled,
    MOJIBAKE: mojibake,
    SCANNED: scanned,
    SPAM: spam,
}
"""Every kind that needs nothing but the text."""


def corrupted(text: str, kind: str, seed: int, name: str) -> str:
    """A text spoilt in one way; the same for the same seed and name."""
    return KINDS[kind](text, chance_of(seed, kind, name))


def chance_of(*parts: str | int) -> np.random.Generator:
    """Chance that follows from what it is for and nothing else."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest(*parts), "little")))


def words_of(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and what stands before, between and behind them: one more."""
    found = segment(pa.array([text], pa.large_string()), "unicode")
    raw = text.encode()
    starts, ends = found.starts.tolist(), found.ends.tolist()
    words = [raw[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    gaps = [raw[end:start].decode() for end, start in zip([0, *ends], [*starts, len(raw)], strict=True)]
    return words, gaps


def _neighbour(character: str, step: int) -> str:
    """A character of the same kind a few code points away; itself where there is none."""
    for reach in (step, -step, 1, -1):
        point = ord(character) + reach
        if 0x20 < point < 0x110000 and unicodedata.category(chr(point)) == unicodedata.category(character):
            return chr(point)
    return character
