"""The script of a text, counted from its letters."""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import decode, width
from winnow.schemas.kernels import kernel
from winnow.schemas.languages import script_ranges

KANA_PERCENT = 5
"""Text counts as Japanese if at least this share of its Chinese characters and kana is kana."""

SECOND_PERCENT = 10
"""A second script is notable from this share of the letters."""

KANJI_ALONE = 20
"""Fewer Chinese characters than this may be Japanese without kana, such as a heading; more never are."""

EITHER = "Hira"
"""In place of a second script: Chinese or Japanese. Kana alone is never a text's script or second one: it is `Jpan`."""

_JAPANESE = "Jpan"
_NONE = 255  # no script: not a letter, or one shared by several scripts


@dataclass(frozen=True, slots=True)
class Scripts:
    """The dominant script of each text; -1 where a text has no letters."""

    numbers: npt.NDArray[np.int16]  # into `script_names()`
    letters: npt.NDArray[np.int64]  # of any script
    own_letters: npt.NDArray[np.int64]  # of the dominant one
    seconds: npt.NDArray[np.int16]
    """The script of most other letters; -1 if it has less than SECOND_PERCENT of all.

    `EITHER` where Chinese characters may be of either language: beside no or little kana, few of them or with some;
    beside more kana, if they outnumber it.
    """
    second_letters: npt.NDArray[np.int64]  # of the script of most other letters, however few

    def take(self, rows: npt.NDArray[np.int64]) -> "Scripts":
        """The scripts of some of the texts."""
        return Scripts(*(getattr(self, field.name)[rows] for field in fields(self)))


@lru_cache(maxsize=1)
def script_names() -> tuple[str, ...]:
    """ISO 15924 codes by number. Japanese has its own code besides the scripts that it mixes."""
    return tuple(sorted({item.script for item in script_ranges()} | {_JAPANESE}))


@lru_cache(maxsize=1)
def _numbers_of_points() -> npt.NDArray[np.uint8]:
    """The number of each code point's script, one byte each, so that a kernel needs one look-up."""
    numbers = np.full(0x110000, _NONE, np.uint8)
    by_name = {name: number for number, name in enumerate(script_names())}
    for item in script_ranges():
        numbers[item.first : item.last + 1] = by_name[item.script]
    return numbers


def dominant_scripts(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Scripts:
    """The dominant script of each range of UTF-8 text; ties go to the first by name."""
    names = script_names()
    special = np.array([names.index(name) for name in ("Hani", "Hira", "Kana", _JAPANESE, "Hang")], np.int64)
    numbers = np.empty(len(starts), np.int16)
    letters = np.empty(len(starts), np.int64)
    own = np.empty(len(starts), np.int64)
    seconds = np.empty(len(starts), np.int16)
    others = np.empty(len(starts), np.int64)
    _count(buffer, starts, ends, _numbers_of_points(), len(names), special, numbers, letters, own, seconds, others)
    return Scripts(numbers, letters, own, seconds, others)


@kernel
def _count(buffer, starts, ends, scripts, number_of_scripts, special, numbers, letters, own, seconds, others):  # type: ignore[no-untyped-def]
    han, hiragana, katakana, japanese, hangul = special[0], special[1], special[2], special[3], special[4]
    counts = np.zeros(256, np.int64)
    for text in range(len(starts)):
        counts[:] = 0
        at, end = starts[text], ends[text]
        while at < end:
            lead = buffer[at]
            counts[scripts[decode(buffer, at)]] += 1
            at += width(lead)
        kanji = counts[han]
        kana = counts[hiragana] + counts[katakana]
        if kana > 0 and kana * 100 >= KANA_PERCENT * (kana + kanji):
            counts[japanese] = kana + kanji
            counts[han] = counts[hiragana] = counts[katakana] = 0
        best = -1
        total = 0
        for number in range(number_of_scripts):
            total += counts[number]
            if counts[number] > 0 and (best < 0 or counts[number] > counts[best]):
                best = number
        numbers[text] = best
        letters[text] = total
        own[text] = counts[best] if best >= 0 else 0
        second = -1
        for number in range(number_of_scripts):
            if number != best and counts[number] > 0 and (second < 0 or counts[number] > counts[second]):
                second = number
        others[text] = counts[second] if second >= 0 else 0
        if others[text] * 100 < SECOND_PERCENT * max(total, 1):
            second = -1
        if second != hangul and (
            (han in (best, second) and (kana > 0 or kanji < KANJI_ALONE))
            or (japanese in (best, second) and kanji > kana)
        ):
            second = hiragana  # EITHER
        seconds[text] = second
