"""How text is prepared for an n-gram model: in the same way as the text that the model was trained on."""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeAlias

Wording: TypeAlias = Literal["none", "lower", "words", "ccnet"]
"""The kinds; newlines always stay:

- `none`: nothing;
- `lower`: lower case;
- `words`: lower case, and all but letters, marks, digits and apostrophes becomes a space;
- `ccnet`: as CCNet prepares text for its models: lower case, no accents, digits become 0, typographic punctuation
  becomes ASCII, control characters are removed.
"""

# CCNet's table; its full-width digit is never used, as digits are replaced first.
_ASCII = dict(
    zip("，。、„”“«»」「《》´∶：？！（）；–．～’━〈〉【】％►", ',.,"""""""""\'::?!();- ~\'-<>[]%-', strict=True)
)
_ASCII |= {"．": ". ", "—": " - ", "…": "..."}


def spelling_of(kind: Wording) -> Callable[[str], str]:
    """The function that prepares a text, one character at a time and so in linear time."""
    if kind == "none":
        return lambda text: text
    if kind == "lower":
        return str.lower
    table = _table(kind)
    return lambda text: text.lower().translate(table)


class _Characters(dict[int, str]):
    """A cache of characters' replacements, bounded by the size of Unicode."""

    def __init__(self, replace: Callable[[str], str]) -> None:
        super().__init__({ord("\n"): "\n"})
        self._replace = replace

    def __missing__(self, point: int) -> str:
        self[point] = self._replace(chr(point))
        return self[point]


@cache
def _table(kind: Wording) -> _Characters:
    return _Characters(_as_word if kind == "words" else _as_ccnet)


def _as_word(character: str) -> str:
    if character in "'’":
        return "'"
    return character if unicodedata.category(character)[0] in "LMN" else " "


def _as_ccnet(character: str) -> str:
    if ord(character) < 32 or 127 <= ord(character) < 160:
        return ""
    decomposed = unicodedata.normalize("NFD", character)
    bare = (part for part in decomposed if unicodedata.category(part) != "Mn")
    return "".join("0" if part.isdecimal() else _ASCII.get(part, part) for part in bare)
