"""Byte tests for detectors: letters, digits, short words, and characters of other scripts."""

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import leaf

__all__ = [
    "among",
    "bracketed",
    "character_before",
    "is_alnum",
    "is_hex",
    "small_letter",
    "unspaced",
    "word_list",
]

Bytes = npt.NDArray[np.uint8]


def word_list(written: str) -> Bytes:
    """Encode words for kernels: each ends in a line break."""
    return np.frombuffer("".join(f"{word}\n" for word in written.split()).encode(), np.uint8).copy()


@leaf  # type: ignore[untyped-decorator]
def small_letter(byte: int) -> int:
    """Lower-case an ASCII letter; other bytes are unchanged."""
    return byte | 32 if 65 <= byte <= 90 else byte


@leaf  # type: ignore[untyped-decorator]
def is_alnum(byte: int) -> bool:
    """Whether a byte is a letter or digit of ASCII."""
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122


@leaf  # type: ignore[untyped-decorator]
def is_hex(byte: int) -> bool:
    """Whether a byte is a hexadecimal digit of ASCII."""
    return 48 <= byte <= 57 or 65 <= byte <= 70 or 97 <= byte <= 102


@leaf  # type: ignore[untyped-decorator]
def among(text: Bytes, start: int, end: int, listed: Bytes) -> bool:
    """Whether these bytes are one of the words (each ends in a line break), ignoring ASCII case."""
    at = 0
    while at < len(listed):
        place = start
        same = True
        while listed[at] != 10:
            same = same and place < end and small_letter(text[place]) == listed[at]
            place += 1
            at += 1
        if same and place == end:
            return True
        at += 1
    return False


@leaf  # type: ignore[untyped-decorator]
def bracketed(text: Bytes, at: int, high: int, listed: Bytes) -> int:
    """The end of the bracketed text here if it is one of the words; else -1."""
    opening = text[at]
    if opening != 40 and opening != 91 and opening != 123:
        return -1
    closing = 41 if opening == 40 else opening + 2
    at += 1
    if at < high and text[at] == 32:
        at += 1
    start = at
    while at < high and at - start <= 12 and text[at] != closing and text[at] != 32:
        at += 1
    end = at
    if at < high and text[at] == 32:
        at += 1
    if at >= high or text[at] != closing or not among(text, start, end, listed):
        return -1
    return at + 1


@leaf  # type: ignore[untyped-decorator]
def unspaced(point: int) -> bool:
    """Whether the character's script has no spaces between words, or appends particles to names."""
    return (
        0x0E00 <= point <= 0x109F  # Thai, Lao, Tibetan, Burmese
        or 0x1100 <= point <= 0x11FF
        or 0x1780 <= point <= 0x17FF  # Khmer
        or point >= 0x2E80  # Han, Kana, Hangul
    )


@leaf  # type: ignore[untyped-decorator]
def character_before(text: Bytes, low: int, at: int) -> int:
    """The start of the character that ends at this position."""
    at -= 1
    steps = 0
    while at > low and steps < 3 and text[at] & 0xC0 == 0x80:
        at -= 1
        steps += 1
    return at
