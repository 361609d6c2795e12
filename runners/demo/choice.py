"""Choices that look random but are not: each is a hash of its purpose."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from winnow.schemas.identity import digest

T = TypeVar("T")


def number(*purpose: str | int) -> int:
    """64 bits that depend on the purpose alone."""
    return int.from_bytes(digest("demo", *purpose, size=8), "little")


def between(low: int, high: int, *purpose: str | int) -> int:
    """An integer from low to high, both included."""
    return low + number(*purpose) % (high - low + 1)


def pick(options: Sequence[T], *purpose: str | int) -> T:
    """One of the options."""
    return options[number(*purpose) % len(options)]


def shuffled(items: Iterable[T], *purpose: str | int) -> list[T]:
    """All of the items, in an order that depends on the purpose; the same purpose always gives the same order."""
    numbered = sorted(enumerate(items), key=lambda pair: number(*purpose, pair[0]))
    return [item for _, item in numbered]


def chance(percent: float, *purpose: str | int) -> bool:
    """True for about this percentage of purposes."""
    return number(*purpose) % 10_000 < percent * 100
