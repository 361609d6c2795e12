"""Bounds what a condition may make of a row's texts, before it runs: no value grows far beyond what is in the row.

`replace(replace(url, 'a', 'aaaaaaaaaa'), 'a', 'aaaaaaaaaa')` multiplies a text by a hundred, and each further call by
ten. Sizes are upper bounds from the expression alone, so the same condition is refused or runs whatever the rows hold.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from winnow.schemas.identity import Json

MAX_GROWTH: Final = 100  # a value's length, in lengths of the row's longest text
MAX_COMPARED: Final = 256  # characters of the shorter of two texts between which edits are counted
MAX_PATTERN: Final = 1_000  # characters of a regular expression

_Tree: TypeAlias = Mapping[str, Json]

_SUMS: Final = frozenset(["||", "concat", "list_value", "row"])
_FIRST: Final = frozenset(
    [
        "array_extract",
        "list_element",
        "list_extract",
        "list_max",
        "list_min",
        "lower",
        "ltrim",
        "regexp_extract",
        "reverse",
        "rtrim",
        "split_part",
        "str_split",
        "string_split",
        "strip_accents",
        "struct_extract",
        "translate",
        "trim",
        "upper",
    ]
)  # whose result is no longer than their first argument
_CUTS: Final = {"left": 1, "right": 1, "substr": 2, "substring": 2}  # the argument with the number of characters
_CHOICES: Final = frozenset(("if", "nullif"))
_PATTERNS: Final = frozenset(("regexp_extract", "regexp_full_match", "regexp_matches", "regexp_replace"))
_REFERENCE: Final = re.compile(r"\\[0-9]")
_PLAIN: Final = 64  # characters of a number or a time as text


@dataclass(frozen=True, slots=True)
class Size:
    """An upper bound of a value's length: so many times the longest text of a row, and so many characters."""

    times: float = 0.0
    characters: float = 0.0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.times + other.times, self.characters + other.characters)

    def __mul__(self, factor: float) -> "Size":
        return Size(self.times * factor, self.characters * factor)

    def within(self, characters: int) -> bool:
        """Whether it never has more characters than these."""
        return self.times == 0 and self.characters <= characters


class TooLargeError(ValueError):
    """A value may grow too large."""


def growth_complaint(tree: _Tree) -> str | None:
    """The reason why an expression may make too much of a row's texts; None if it may not.

    Args:
        tree: An expression as DuckDB's parser gives it.
    """
    try:
        largest_size(tree)
    except TooLargeError as error:
        return str(error)
    return None


def largest_size(node: _Tree) -> Size:
    """An upper bound of the length of an expression's value, if it is a text or a list.

    Raises:
        TooLargeError: It, or a part of it, may grow beyond all use.
    """
    sizes = [largest_size(child) for child in _operands(node)]
    kind = str(node["class"])
    if kind == "COLUMN_REF":
        return Size(1.0)
    if kind == "CONSTANT":
        return Size(0.0, len(_constant(node) or ""))
    if kind == "CAST":
        return sizes[0] + Size(0.0, _PLAIN)
    if kind == "CASE" or str(node["type"]) == "OPERATOR_COALESCE":
        return _largest(sizes)
    if kind != "FUNCTION":
        return Size()
    found = _of_function(str(node["function_name"]).lower(), sizes, list(_operands(node)))
    if found.times > MAX_GROWTH or found.characters > MAX_GROWTH * MAX_PATTERN:
        raise TooLargeError(
            f"{node['function_name']}(…) may make a text more than {MAX_GROWTH} times as long; nest fewer of these, "
            "or put left(…, 1000) around the text"
        )
    return found


def _of_function(name: str, sizes: list[Size], arguments: list[_Tree]) -> Size:
    if name == "levenshtein" and not any(size.within(MAX_COMPARED) for size in sizes):
        raise TooLargeError(
            f"levenshtein takes time by the product of two lengths; put left(…, {MAX_COMPARED}) around one text"
        )
    if name in _PATTERNS and len(sizes) > 1 and not sizes[1].within(MAX_PATTERN):
        raise TooLargeError(f"the regular expression of {name} may be longer than {MAX_PATTERN} characters; shorten it")
    if name in _SUMS:
        return sum(sizes, Size())
    if name == "concat_ws" and sizes:
        return sum(sizes[1:], Size()) + sizes[0] * max(0, len(sizes) - 2)  # the first stands between the others
    if name == "replace" and len(sizes) == 3:
        sought = _constant(arguments[1])
        return sizes[0] * max(1.0, _fixed(sizes[2]) / max(1, len(sought or "")))
    if name == "regexp_replace" and len(sizes) >= 3:
        again = len(_REFERENCE.findall(_constant(arguments[2]) or ""))
        added = _fixed(sizes[2])
        if len(arguments) > 3 and "g" not in (_constant(arguments[3]) or "g"):
            return sizes[0] * (1 + again) + Size(0.0, added)
        if len(arguments) == 3:  # the first match alone
            return sizes[0] * (1 + again) + Size(0.0, added)
        # A match may be empty, and then there is one before each character, and one at the end.
        return sizes[0] * (1 + again + added) + Size(0.0, added)
    if name in _CUTS and len(sizes) > _CUTS[name]:
        most = _constant(arguments[_CUTS[name]])
        if most is not None and most.isdigit():
            return Size(0.0, min(int(most), MAX_GROWTH * MAX_PATTERN))
        return sizes[0]
    if name in _CHOICES:
        return _largest(sizes)
    return sizes[0] if name in _FIRST and sizes else Size()


def _fixed(size: Size) -> float:
    """The characters of a value that depends on no text; infinite for another."""
    return size.characters if size.times == 0 else math.inf


def _largest(sizes: list[Size]) -> Size:
    return Size(max((size.times for size in sizes), default=0.0), max((size.characters for size in sizes), default=0.0))


def _operands(node: _Tree) -> Iterator[_Tree]:
    """The expressions directly within one, in order."""
    stack: list[Json] = list(reversed(list(node.values())))
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            if "class" in item:
                if item["class"] != "TYPE":
                    yield item
            else:
                stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))


def _constant(node: _Tree) -> str | None:
    """The text of a constant, as it is written in the tree; None for another expression."""
    literal = node.get("literal")
    return str(literal["text"]) if isinstance(literal, Mapping) and "text" in literal else None
