"""Folding tables over all code points, for the kernel of `winnow.filters.language.folding`.

They come from Python's `unicodedata`, restricted to the version of Unicode that
`winnow.filters.language.words` was made with, so that another Python folds the same characters.
"""

import sys
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.kernels.classes import flags_by_point

WORD = 1 << 16  # letters, digits, marks and underscores: word characters
LATIN = 1 << 17
CYRILLIC = 1 << 18
GREEK = 1 << 19
COMPOSES = 1 << 20  # may compose with the character before it
STRIPPED = 1 << 21  # a mark that folding removes unless it has composed with the character before it
ENTRY = WORD - 1

LOOKALIKES_AT = 0x370
LOOKALIKES = 0x1C0

LONGEST = 4
"""Limit of a code point's growth in bytes: four Arabic phrases of one character stay unfolded."""

INVISIBLE = (  # Default_Ignorable_Code_Point, except jamo fillers inside syllables
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_STRIPPED = (  # accents of no script, Hebrew points, Arabic vowels and the stroke that stretches a word
    (0x0300, 0x036F), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0xFE20, 0xFE2F), (0x0483, 0x0489),
    (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5), (0x05C7, 0x05C7), (0x0610, 0x061A),
    (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC), (0x06DF, 0x06E4), (0x06E7, 0x06E8),
    (0x06EA, 0x06ED), (0x08CA, 0x08E1), (0x08E3, 0x08FF),
)  # fmt: skip
_ALIKE = {
    **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
    **dict.fromkeys("‘’‛′", "'"),
    **dict.fromkeys("“”‟″", '"'),
    **{chr(0x1F150 + number): chr(0x41 + number) for number in range(26)},  # white on black in a circle
    **{chr(0x1F170 + number): chr(0x41 + number) for number in range(26)},  # and in a square
}
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢɑɡ", "abcdefghijklmnopqrstuvwyzag", strict=True))
_TO_LATIN = dict(
    zip(
        "авекмнорстухѕіјһԁԍԛԝӏүАВЕКМНОРСТУХЅІЈҺԀԌԚԜӀҮ" + "αβγεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        "abekmhopctyxsijhdgqwlyabekmhopctyxsijhdgqwly" + "abyeikvoptuxwabezhikmnoptyx",
        strict=True,
    )
)
_TO_CYRILLIC = dict(zip("abekmhopctyxsij", "авекмнорстухѕіј", strict=True))


_AS_THEY_ARE = (  # ideographs and syllables: whole blocks of letters that fold to themselves
    (0x3400, 0x4DBF), (0x4E00, 0x9FFC), (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0x12000, 0x12399), (0x13000, 0x1342E),
    (0x17000, 0x187F7), (0x18800, 0x18CD5), (0x20000, 0x2A6DD), (0x2A700, 0x2F7FF), (0x30000, 0x3134A),
)  # fmt: skip
_LAST = 0x2FA20  # the last letter or digit that changes


class Characters(NamedTuple):
    """A two-stage table over all code points, and its entries."""

    pages: NDArray[np.uint16]
    values: NDArray[np.uint32]  # an entry and flags; entry 0: the character stays
    places: NDArray[np.int32]  # start of each entry's bytes in `pool`
    sizes: NDArray[np.uint8]
    points: NDArray[np.int32]  # the one code point of an entry, or -1
    pool: NDArray[np.uint8]
    pairs: NDArray[np.int64]  # open addressing: two code points, or -1
    composed: NDArray[np.int32]  # their composed form
    to_latin: NDArray[np.uint8]  # from LOOKALIKES_AT on: the similar-looking Latin letter, or 0
    to_cyrillic: NDArray[np.int32]  # for lower-case ASCII: the similar-looking Cyrillic letter, or 0


def _within(point: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= point <= high for low, high in ranges)


def is_stripped(character: str) -> bool:
    """Whether case folding removes this mark."""
    return _within(ord(character), _STRIPPED)


def folded_character(character: str, *, case: bool) -> str:
    """The folded form of a single character; empty for an invisible one."""
    if _within(ord(character), INVISIBLE):
        return ""
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if character in _ALIKE:
        plain = _ALIKE[character]
    elif (digit := unicodedata.digit(character, None)) is not None:
        plain = str(digit)
    else:
        plain = unicodedata.normalize("NFKC", character)
        plain = character if " " in plain else plain  # a stand-alone accent
    if case:
        plain = _SMALL_CAPITALS.get(character, plain)
        cased = unicodedata.normalize("NFKC", plain.casefold())
        plain = plain if " " in cased else cased
        if len(plain) > 1:
            plain = plain[0] + "".join(one for one in plain[1:] if not is_stripped(one))
    return plain if len(plain.encode()) <= LONGEST * len(character.encode()) else character


def _flags(character: str, folded: str) -> int:
    if not folded:
        return 0
    first = folded[0]
    found = WORD if first.isalnum() or first == "_" or unicodedata.category(first).startswith("M") else 0
    if first.isalpha():
        name = unicodedata.name(first, "")
        found |= LATIN * name.startswith("LATIN") + CYRILLIC * name.startswith("CYRILLIC")
        found |= GREEK * name.startswith("GREEK")
    return found | STRIPPED * is_stripped(character)


def compositions() -> dict[tuple[int, int], int]:
    """All pairs that Unicode composes to one character, except Hangul syllables, which are computed."""
    found = {}
    for point in range(_LAST):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = int(parts[0], 16), int(parts[1], 16)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(point):
                found[first, second] = point
    return found


def pair_slot(first: int, second: int, slots: int) -> int:
    """The first slot to search for a pair."""
    return ((first * 0x9E3779B1 + second * 0x85EBCA6B) >> 7) & (slots - 1)


@lru_cache(maxsize=2)
def characters(*, case: bool) -> Characters:
    """The tables, made once per process."""
    known = flags_by_point()
    pairs = compositions()
    composing = {second for _, second in pairs}
    entries: dict[str, int] = {"\0": 0}
    values = np.zeros(sys.maxunicode + 1, np.uint32)
    for low, high in _AS_THEY_ARE:
        values[low : high + 1][known[low : high + 1] != 0] = WORD if case else 0
        known[low : high + 1] = 0
    for low, high in INVISIBLE:
        known[low : high + 1] = 1
    for point in (*range(_LAST), *range(0xE0000, 0xE1000)):
        character = chr(point)
        if known[point] == 0 and unicodedata.category(character) not in ("No", "Nl"):
            continue
        folded = folded_character(character, case=case)
        value = 0 if folded == character else entries.setdefault(folded, len(entries))
        if case:
            value |= _flags(character, folded)
            if point in composing or 0x1161 <= point <= 0x1175 or 0x11A8 <= point <= 0x11C2:
                value |= COMPOSES
        values[point] = value
    blocks: dict[bytes, int] = {}
    pages = [blocks.setdefault(block.tobytes(), len(blocks)) for block in values.reshape(-1, 256)]
    encoded = [entry.encode() for entry in entries]
    slots = 4096
    keys, composed = np.full(slots, -1, np.int64), np.zeros(slots, np.int32)
    for (first, second), point in sorted(pairs.items()):
        slot = pair_slot(first, second, slots)
        while keys[slot] >= 0:
            slot = (slot + 1) & (slots - 1)
        keys[slot], composed[slot] = (first << 21) | second, point
    to_latin, to_cyrillic = np.zeros(LOOKALIKES, np.uint8), np.zeros(128, np.int32)
    for other, latin in _TO_LATIN.items():
        to_latin[ord(other) - LOOKALIKES_AT] = ord(latin)
    for latin, other in _TO_CYRILLIC.items():
        to_cyrillic[ord(latin)] = ord(other)
    return Characters(
        np.array(pages, np.uint16),
        np.frombuffer(b"".join(blocks), np.uint32),
        np.cumsum([0, *map(len, encoded)][:-1], dtype=np.int32),
        np.array([len(one) for one in encoded], np.uint8),
        np.array([ord(entry) if len(entry) == 1 else -1 for entry in entries], np.int32),
        np.frombuffer(b"".join(encoded), np.uint8),
        keys,
        composed,
        to_latin,
        to_cyrillic,
    )
