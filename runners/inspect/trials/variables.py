"""Keeps what a condition takes from the environment when the condition is written anew.

The page shows conditions with the values of their variables, which may be private, so a new condition has the values
too. Where they stand as before, the variables are written in their places again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import Final

_VARIABLE: Final = re.compile(r"(\$\$\{|\$\{[^}]*\})")
_ESCAPED: Final = "$${"
_TOKEN: Final = re.compile(r"[\w.]+|'(?:[^']|'')*'|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class _Value:
    """A variable's value in a condition."""

    variable: str  # as it is written
    start: int
    end: int


def with_variables(written: str, condition: str, new: str) -> tuple[str, bool]:
    """The text of a new condition with the variables of the one it replaces, and whether none of them is lost.

    `written`: that one as the recipe writes it; `condition`: the same with the values of its variables.
    """
    values = _values(written, condition)
    if values is None:
        return _plain(new), False
    old_tokens, new_tokens = _TOKEN.findall(condition), _TOKEN.findall(new)
    old_starts, new_starts = ([0, *accumulate(map(len, tokens))] for tokens in (old_tokens, new_tokens))
    blocks = SequenceMatcher(None, old_tokens, new_tokens, autojunk=False).get_matching_blocks()
    found: dict[int, _Value] = {}  # by where it stands in the new condition
    for value in values:
        for block in blocks:
            if old_starts[block.a] <= value.start and value.end <= old_starts[block.a + block.size]:
                found[value.start - old_starts[block.a] + new_starts[block.b]] = value
                break
        else:
            for place in _moved_text(value, condition, old_starts, new_tokens, new_starts):
                found.setdefault(place, value)
    text, at = "", 0
    for start, value in sorted(found.items()):
        text += _plain(new[at:start]) + value.variable
        at = start + value.end - value.start
    return text + _plain(new[at:]), {*found.values()} == {*values}


def _moved_text(
    value: _Value, condition: str, starts: list[int], tokens: list[str], places: list[int]
) -> Iterator[int]:
    """Where the quoted text that a value is a part of stands elsewhere: no private text is written out."""
    for first, end in pairwise(starts):
        token = condition[first:end]
        if first <= value.start and value.end <= end and token.startswith("'"):
            yield from (
                place + value.start - first for place, other in zip(places, tokens, strict=False) if other == token
            )


def _values(written: str, condition: str) -> list[_Value] | None:
    """Where the value of each variable stands; None if the condition is not what is written."""
    parts = _VARIABLE.split(written)
    variables = [part for part in parts[1::2] if part != _ESCAPED]
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else re.escape("${") if part == _ESCAPED else "(.*?)"
        for number, part in enumerate(parts)
    )
    found = re.fullmatch(pattern, condition, re.DOTALL)
    if found is None:
        return None if variables else []
    return [_Value(name, *found.span(number)) for number, name in enumerate(variables, 1)]


def _plain(text: str) -> str:
    """A text without variables, as a recipe writes it."""
    return text.replace("${", _ESCAPED)
