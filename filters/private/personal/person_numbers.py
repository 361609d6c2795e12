"""Identification numbers of persons, issued by states: how each is written and checked, and the words that announce it.

One entry of `person_numbers.txt` a kind of number. `checked_by` is its module of `python-stdnum` (https://arthurdejong.org/python-stdnum/),
which knows the check digits and the dates and places inside. A shape is how people write it: `9` is a digit, `A` a
capital, `a` a small letter, `_` a blank, and `-`, `.`, `/` and `+` are themselves. What chance writes seldom enough
counts wherever it stands (`telling`: letters at fixed places, a date and check digits between separators); of the
others, one in ten or hundred numbers of that length passes its check, so a word must announce them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from winnow.filters.private.personal.cues import words


@dataclass(frozen=True, slots=True)
class PersonNumber:
    """One kind of number in one country."""

    region: str  # ISO 3166
    name: str
    checked_by: str  # a module of stdnum
    telling: tuple[str, ...]  # shapes that need no word
    announced: tuple[str, ...]  # shapes that do
    cues: tuple[str, ...]


def _entry(block: list[str]) -> PersonNumber:
    """An entry of the table: a line of region, name and module, and lines of shapes and cues below it."""
    region, name, module = block[0].split()
    parts: dict[str, list[str]] = {"telling": [], "announced": [], "cues": []}
    for line in block[1:]:
        part, *entries = line.split()
        parts[part] += entries
    telling, announced = (tuple(one.replace("_", " ") for one in parts[part]) for part in ("telling", "announced"))
    return PersonNumber(region, name, module, telling, announced, words(" ".join(parts["cues"])))


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start:end]


_TABLE = Path(__file__).with_suffix(".txt").read_text("utf-8")
STATES: tuple[PersonNumber, ...] = tuple(map(_entry, _blocks(_TABLE.splitlines())))
"""Every kind of number that is searched for."""
