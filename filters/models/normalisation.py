r"""Convert a text to the single line that fastText reads, in the same way as in the model's training.

fastText reads words between spaces up to the end of the line. It treats the word `</s>` as that end and words that
start with `__label__` as labels, even from the text: winnow's own kinds drop such words, so that no page can end its
own line.
"""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

Normalisation: TypeAlias = Literal["newlines", "lines", "words", "lower", "tutorial"]
"""The kinds:

- `newlines`: a newline becomes a space, and nothing else happens;
- `lines`: every line break that Unicode knows becomes a space, as DCLM does for its classifier;
- `words`: every white space becomes a space, and fastText's own words are dropped;
- `lower`: as `words`, in lower case;
- `tutorial`: as `lower`, with `. ! ? , ' / ( )` as words of their own, as fastText's tutorial prepares its texts.
"""

NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # those of str.splitlines
_SPACES = (
    _BREAKS + "\t\x1f\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\0"
)
_RESERVED = re.compile(r"(?<![^ ])(?:</s>|__label__[^ ]*)(?![^ ])")
_TUTORIAL = ".!?,'/()"


def one_line(kind: Normalisation) -> Callable[[str], str]:
    """The function that converts a text to one line with its line end."""
    prepare = _KINDS[kind]
    return lambda text: f"{prepare(text)}\n"


def _newlines(text: str) -> str:
    return text.replace("\n", " ")


def _lines(text: str) -> str:
    return _spaced(text.strip(), _BREAKS)


def _words(text: str) -> str:
    spaced = _spaced(text, _SPACES)
    if "</s>" in spaced or "__label__" in spaced:
        return _RESERVED.sub("", spaced)
    return spaced


def _lower(text: str) -> str:
    return _words(text.lower())  # in this order: `__LABEL__x` must not become a label


def _tutorial(text: str) -> str:
    for mark in _TUTORIAL:
        text = text.replace(mark, f" {mark} ")
    return _lower(text)


def _spaced(text: str, characters: str) -> str:
    for character in characters:  # each search runs at memory speed; most find nothing
        text = text.replace(character, " ")
    return text


_KINDS: dict[Normalisation, Callable[[str], str]] = {
    "newlines": _newlines,
    "lines": _lines,
    "words": _words,
    "lower": _lower,
    "tutorial": _tutorial,
}
