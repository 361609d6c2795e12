"""Bar charts of the report: counts on a common scale, and shares of a whole, with their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.runners.report.markup import Html, crawled, element, join, plain
from winnow.runners.report.plots.drawing import LEAST_MARK, WIDTH, at, rectangle, svg, words
from winnow.runners.tables.escaping import shortened, visible
from winnow.runners.tables.quantities import grouped, share

LABEL_WIDTH = 190
LABEL_CELLS = 26
VALUE_WIDTH = 150
BAR = 18
ROW = 28
LINE = ROW / 2 + 4.5
"""From the top of a row to the baseline of its text."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar; `tone` is a class of the page's style."""

    name: str
    count: int
    tone: str = "tone-1"


@dataclass(frozen=True, slots=True)
class Row:
    """A label and its pieces."""

    label: str
    parts: tuple[Part, ...]

    @property
    def total(self) -> int:
        """The length of the whole bar."""
        return sum(part.count for part in self.parts)


def bars(title: str, rows: Sequence[Row], whole: int) -> Html:
    """One bar per row on a common scale, with its count and its share of `whole`."""
    longest = max((row.total for row in rows), default=0) or 1
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    drawn: list[Html] = []
    for index, row in enumerate(rows):
        top = index * ROW
        drawn.append(_label(row.label, top))
        drawn.append(_pieces(row, top, room * row.total / longest))
        end = LABEL_WIDTH + max(room * row.total / longest, LEAST_MARK if row.total else 0) + 8
        drawn.append(_value(f"{grouped(row.total)} · {share(row.total, whole)}", end, top))
    description = ", ".join(f"{row.label} {grouped(row.total)}" for row in rows[:12])
    return svg(title, description, len(rows) * ROW, drawn)


def shares(title: str, rows: Sequence[Row]) -> Html:
    """One full-width bar per row, divided by the shares of its parts, with the row's count."""
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    drawn: list[Html] = []
    for index, row in enumerate(rows):
        top = index * ROW
        drawn.append(_label(row.label, top))
        drawn.append(_rectangle(LABEL_WIDTH, top, room, "track"))
        drawn.append(_pieces(row, top, room))
        drawn.append(_value(grouped(row.total), LABEL_WIDTH + room + 8, top))
    description = "; ".join(
        f"{row.label}: " + ", ".join(f"{part.name} {share(part.count, row.total)}" for part in row.parts)
        for row in rows[:12]
    )
    return join([legend(rows), svg(title, description, len(rows) * ROW, drawn)])


def legend(rows: Sequence[Row]) -> Html:
    """The meaning of each tone, in the order of first use."""
    tones = {part.name: part.tone for row in rows for part in row.parts}
    entries = (element("li", element("span", class_=f"swatch {tone}"), crawled(name)) for name, tone in tones.items())
    return element("ul", *entries, class_="legend")


def _pieces(row: Row, top: float, length: float) -> Html:
    drawn: list[Html] = []
    place = float(LABEL_WIDTH)
    total = row.total or 1
    for part in row.parts:
        if part.count:
            wide = max(length * part.count / total, LEAST_MARK)
            tip = f"{row.label}: {part.name} {grouped(part.count)} ({share(part.count, row.total)})"
            drawn.append(_rectangle(min(place, LABEL_WIDTH + max(length, wide) - wide), top, wide, part.tone, tip))
            place += length * part.count / total
    return join(drawn)


def _rectangle(left: float, top: float, wide: float, tone: str, tip: str = "") -> Html:
    return rectangle(left, top + (ROW - BAR) / 2, wide, BAR, tone, tip)


def _label(text: str, top: float) -> Html:
    shown = shortened(visible(text), LABEL_CELLS)
    tip = element("title", plain(text))
    return element("text", plain(shown), tip, x=at(LABEL_WIDTH - 10), y=at(top + LINE), class_="label end")


def _value(text: str, left: float, top: float) -> Html:
    return words(text, left, top + LINE, "value")
