"""Draws tables on the page."""

from collections.abc import Sequence

from winnow.runners.report.markup import (
    Header,
    Html,
    breakable,
    crawled,
    element,
    folded,
    join,
    marked,
    meter,
    plain,
    unbroken,
)
from winnow.runners.report.markup import table as element_of
from winnow.runners.report.plots.bars import Part, Row, bars
from winnow.runners.tables.table import Share, Table, Value
from winnow.runners.tables.units import Unit

SHADES = 5
TONES = {"all others": "tone-rest"}  # of rankings


def drawn(table: Table, beside: tuple[str, Sequence[Html]] | None = None) -> Html:
    """A table; without rows, a line that says so. Beside it may be what is no value, such as pictures of each row."""
    headers = [Header(head.title, head.unit.number and head.unit.drawn != "meter") for head in table.heads]
    units = [head.unit for head in table.heads]

    def cells(row: tuple[Value, ...]) -> list[Html]:
        return [_cell(value, unit) for value, unit in zip(row, units, strict=True)]

    rows = [cells(row) for row in table.rows]
    if beside is not None:
        headers, rows = [*headers, Header(beside[0])], [[*row, one] for row, one in zip(rows, beside[1], strict=True)]
    return element_of(table.title, headers, rows, cells(table.footer) if table.footer else ())


def drawn_in_parts(table: Table, most: int, more: str) -> list[Html]:
    """The first rows of a table, and the others folded under a title."""
    parts = [drawn(table.between(0, most))]
    return [*parts, folded(more, drawn(table.between(most, title=more)))] if table.rows[most:] else parts


def ranking(table: Table, remark: str = "") -> Html:
    """A table of names, counts and shares as bars, with its numbers folded below."""
    shares = [(str(name), of) for name, _, of in table.rows if isinstance(of, Share)]
    rows = [Row(name, (Part(table.heads[0].title, of.part, TONES.get(name, "tone-1")),)) for name, of in shares]
    whole = shares[0][1].whole if shares else 0
    parts = [element("h3", plain(table.title)), bars(table.title, rows, whole), folded("Exact numbers", drawn(table))]
    return element("div", *parts, *([note(remark)] if remark else []), class_="ranking")


def note(text: str) -> Html:
    """A remark under a table, which may quote a crawl."""
    return element("p", crawled(text), class_="note")


def _cell(value: Value, unit: Unit) -> Html:
    text = unit.written(value)
    match unit.drawn:
        case "name":
            return crawled(text)
        case "breakable":
            return breakable(text)
        case "counts":
            return unbroken(breakable(text))
        case "id":
            return element("code", crawled(text))
        case "excerpt":
            return element("span", marked(" ".join(text.split())), dir="auto")
        case "whole":
            return join(element("span", plain(line), class_="whole") for line in text.splitlines())
        case "meter" if isinstance(value, Share):
            return meter(*value)
        case "shade" if isinstance(value, Share):
            return _shaded(value, text)
        case _:
            return plain(text)


def _shaded(value: Share, text: str) -> Html:
    if not value.part:
        return plain("")
    shade = min(SHADES, 1 + int(SHADES * (value.part / value.whole) ** 0.5)) if value.whole else 1
    return element("span", plain(text), class_=f"shade shade-{shade}")
