"""Words by the Indic NLP Library's trivial tokenizer, for scripts of India and Urdu: short rules over Python strings.

A word ends at a space, or at a punctuation mark, which is a separate word; numbers with separators stay whole. Text
on both sides of a newline without a space is one word, as in the library.
"""

import re
import string
from collections.abc import Callable, Mapping
from functools import partial

# Not the backslash: in the library's pattern it only escapes the following bracket.
_MARKS = string.punctuation.replace("\\", "")
_INDIC_MARKS = "\u0964\u0965\uaaf1\uaaf0\uabeb\uabec\uabed\uabee\uabef\u1c7e\u1c7f"
_URDU_MARKS = "\u0609\u060a\u060c\u061e\u066a\u066b\u066c\u066d\u06d4"
_SPACES = re.compile(" +")
# The look-behind and possessive repeats, which the library lacks, make long rows of digits linear.
_NUMBERS = re.compile(r"(?<![0-9])(?:[0-9]++ [,.:/] )+[0-9]++")


def _marks(more: str) -> re.Pattern[str]:
    return re.compile(f"([{re.escape(_MARKS + more)}])")


def _whole(number: re.Match[str]) -> str:
    # The library skips a number at the start of a text; so do we.
    return number[0].replace(" ", "") if number.start() else number[0]


def _words(marks: re.Pattern[str], numbers: bool, text: str) -> list[str]:
    spaced = _SPACES.sub(" ", marks.sub(r" \1 ", text.replace("\t", " "))).strip(" ")
    if numbers:
        spaced = _NUMBERS.sub(_whole, spaced)
    return spaced.split(" ")


INDIC: Mapping[str, Callable[[str], list[str]]] = {
    "indic": partial(_words, _marks(_INDIC_MARKS), True),
    "indic_ur": partial(_words, _marks(_URDU_MARKS), False),
}
"""Functions that split a text into words, by style; blank words are dropped later."""
