"""Strict reading of the plain values that statistics are written as; raises ValueError on anything else."""

from collections.abc import Mapping

from winnow.schemas.identity import Json


def integer(value: Json) -> int:
    """An integer, or the decimal text of one."""
    if isinstance(value, str) and len(value) <= 40:
        return int(value, 10)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("expected an integer")


def count(value: Json) -> int:
    """An integer that is not negative."""
    found = integer(value)
    if found < 0:
        raise ValueError("expected a count, found a negative number")
    return found


def number(value: Json) -> float:
    """A finite float."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ValueError("expected a number")


def text(value: Json) -> str:
    """A string."""
    if isinstance(value, str):
        return value
    raise ValueError("expected a string")


def mapping(value: Json) -> Mapping[str, Json]:
    """An object."""
    if isinstance(value, Mapping):
        return value
    raise ValueError("expected an object")


def pairs(value: Json) -> dict[int, int]:
    """Bin numbers with their counts."""
    if not isinstance(value, list):
        raise ValueError("expected a list of [bin, count]")
    found: dict[int, int] = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("expected a list of [bin, count]")
        found[integer(pair[0])] = count(pair[1])
    return found


def value_counts(value: Json) -> dict[str, int]:
    """Values with their counts."""
    if not isinstance(value, list):
        raise ValueError("expected a list of [value, count]")
    found: dict[str, int] = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("expected a list of [value, count]")
        found[text(pair[0])] = count(pair[1])
    return found
