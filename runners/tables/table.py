"""A fact as a table: its columns have titles and units, and say how a row gives their value.

A value is written by its column's unit, the same everywhere. Words stay unchanged. JSON has the values themselves.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from winnow.runners.tables.units import NAME, Unit
from winnow.schemas.identity import Json

Row = TypeVar("Row")


class Share(NamedTuple):
    """A part of a whole."""

    part: int
    whole: int


Value: TypeAlias = Json | Share


@dataclass(frozen=True, slots=True)
class Head:
    """A column: its title, its unit, and its name in JSON if that is another."""

    title: str
    unit: Unit
    key: str = ""


def heads(*named: str | tuple[str, Unit]) -> tuple[Head, ...]:
    """Columns of a table whose rows are values already; those without a unit hold names."""
    return tuple(Head(one, NAME) if isinstance(one, str) else Head(*one) for one in named)


def each(unit: Unit, *titles: str) -> tuple[tuple[str, Unit], ...]:
    """Columns of one unit."""
    return tuple((title, unit) for title in titles)


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column, and how a row gives its value."""

    title: str
    unit: Unit
    of: Callable[[Row], Value]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows of values, and what is true of all rows."""

    title: str
    heads: tuple[Head, ...]
    rows: Sequence[tuple[Value, ...]]
    footer: tuple[Value, ...] | None = None

    def without(self, *titles: str) -> "Table":
        """The same without some columns."""
        return self._of([place for place, head in enumerate(self.heads) if head.title not in titles])

    def first(self, *titles: str) -> "Table":
        """The same with these columns before the others."""
        return self._of(sorted(range(len(self.heads)), key=lambda place: self.heads[place].title not in titles))

    def beside(self, title: str, unit: Unit, values: Iterable[Value]) -> "Table":
        """The same with one more column."""
        rows = [(*row, value) for row, value in zip(self.rows, values, strict=True)]
        return Table(self.title, (*self.heads, Head(title, unit)), rows)

    def cut(self, title: str, characters: int) -> "Table":
        """The same with at most this many characters in a column of words."""
        (at,) = (place for place, head in enumerate(self.heads) if head.title == title)
        rows = [(*row[:at], str(row[at])[:characters], *row[at + 1 :]) for row in self.rows]
        return replace(self, rows=rows)

    def filled(self, *titles: str) -> "Table":
        """The same without those of these columns, or of all, that have no value in any row; without rows, all."""
        kept = [bool(titles) and head.title not in titles for head in self.heads]
        some = [place for place, stays in enumerate(kept) if stays or any(row[place] for row in self.rows)]
        return self._of(some) if self.rows else self

    def _of(self, places: Sequence[int]) -> "Table":
        heads = tuple(self.heads[place] for place in places)
        rows = [tuple(row[place] for place in places) for row in self.rows]
        footer = None if self.footer is None else tuple(self.footer[place] for place in places)
        return Table(self.title, heads, rows, footer)

    def between(self, first: int, last: int | None = None, title: str = "") -> "Table":
        """Some of the rows; the footer stays with the first."""
        footer = None if first else self.footer
        return Table(title or self.title, self.heads, self.rows[first:last], footer)

    def written(self, row: Sequence[Value]) -> tuple[str, ...]:
        """The cells of a row."""
        return tuple(head.unit.written(value) for value, head in zip(row, self.heads, strict=True))

    def to_json(self) -> list[dict[str, Json]]:
        """The rows as objects."""
        keys = [head.key or head.title.replace(" ", "_") for head in self.heads]
        return [dict(zip(keys, map(_plain, row), strict=True)) for row in self.rows]


def table(title: str, columns: Sequence[Column[Row]], rows: Iterable[Row], footer: Row | None = None) -> Table:
    """The table of these columns."""

    def cells(row: Row) -> tuple[Value, ...]:
        return tuple(column.of(row) for column in columns)

    heads = tuple(Head(column.title, column.unit, column.key) for column in columns)
    return Table(title, heads, [cells(row) for row in rows], None if footer is None else cells(footer))


def largest(rows: Sequence[Row], most: int, combined: Callable[[Sequence[Row]], Row]) -> list[Row]:
    """The first rows, and all others as one."""
    return [*rows[:most], *([combined(rows[most:])] if rows[most:] else [])]


def _plain(value: Value) -> Json:
    if isinstance(value, Share):
        return value.part / value.whole if value.whole else None
    return value
