"""The units of a table's columns: how values are written, and how they are drawn on a page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from winnow.runners.tables.quantities import byte_size, grouped, share

Drawn: TypeAlias = Literal["plain", "name", "breakable", "id", "excerpt", "whole", "counts", "meter", "shade"]
"""How a page draws a value."""


@dataclass(frozen=True, slots=True)
class Unit:
    """How the values of a column are written and drawn."""

    write: Callable[[Any], str] = str
    number: bool = True  # aligned right; names are aligned left, and shortened where a line is too short
    whole: bool = False  # a name that is never shortened, as users type it again
    absent: str = ""  # in place of no value
    drawn: Drawn = "plain"

    def written(self, value: object) -> str:
        """A value in this unit; words stay unchanged."""
        return self.absent if value is None else value if isinstance(value, str) else self.write(value)


NAME = Unit(number=False, drawn="name")
REASON = Unit(number=False, whole=True, drawn="breakable")
PLACE = Unit(number=False, drawn="breakable")
ID = Unit(number=False, whole=True, drawn="id")
EXCERPT = Unit(number=False, drawn="excerpt")
WORDS = Unit(number=False)
COUNTS = Unit(number=False, drawn="counts")  # names, each with its number
WHOLE = Unit(number=False, drawn="whole")  # lines that a page never breaks
COUNT = Unit(grouped)
BYTES = Unit(byte_size)
SHARE = Unit(lambda one: share(*one))
SHADE = replace(SHARE, drawn="shade")
METER = replace(SHARE, drawn="meter")  # a bar beside the number, on a page alone
CHANGE = Unit(lambda one: f"{one:+,}" if one else "0")
RATIO = Unit(lambda one: f"{one:.2f}")
PERCENT = Unit(lambda one: f"{one:.1%}")
DIGITS = Unit(lambda one: f"{one:.4g}")
PRECISE = Unit(lambda one: f"{one:.6g}")
