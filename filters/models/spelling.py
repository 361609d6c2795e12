"""How text is prepared for an n-gram model: in the same way as the text that the model was trained on."""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeAlias

Wording: TypeAlias = Literal["none", "lower", "words", "ccnet"]
"""What each does, newlines always staying:

- `none`: nothing;
- `lower`: lower case;
- `words`: lower case, and what is no letter, mark, digit or apostrophe becomes a space;
- `ccnet`: as CCNet prepares text for its models: lower case, no accents, digits become 0, typographic punctuation
  becomes ASCII's, control characters go.
"""

# CCNet's table, of which the full-width digit never comes into play: digits are replaced first.
_ASCII = dict(
    zip("，。、„”“«»」「《》´∶：？！（）；–．～’━〈〉【】％►", ',.,"""""""""\'::?!();- ~\'-<>[]%-', strict=True)
)
_ASCII |= {"．": ". ", "—": " - ", "…": "..."}


def spelling_of(kind: Wording) -> Callable[[str], str]:
    """The function that prepares a text. It looks at one character at a time, so it takes linear time on any."""
    if kind == "none":
        return lambda text: text
    if kind == "lower":
        return str.lower
    table = _table(kind)
    return lambda text: text.lower().translate(table)


class _Characters(dict[int, str]):
    """What becomes of a character, worked out when it is first met: there are no more than Unicode has."""

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
