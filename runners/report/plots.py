"""The plots of a report, as inline SVG that takes its colours from the page.

Every plot has a title and a description for who cannot see it, its numbers are written beside its marks, and a
table with the exact ones stands under it. Coordinates are rounded to a tenth, so equal counts are equal bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.runners.report.markup import Html, crawled, element, join, plain
from winnow.runners.terminal.escaping import shortened, visible
from winnow.runners.terminal.quantities import grouped, share
from winnow.schemas.summary import Measure

WIDTH = 760
LABEL_WIDTH = 190
LABEL_CELLS = 26
VALUE_WIDTH = 130
BAR = 18
ROW = 28
LEAST_MARK = 1.5
"""What is not nothing can be seen: no mark is narrower."""


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
    """One bar a row on a common scale; its count and its share of `whole` beside it."""
    longest = max((row.total for row in rows), default=0) or 1
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    drawn: list[Html] = []
    for index, row in enumerate(rows):
        top = index * ROW
        drawn.append(_label(row.label, top))
        drawn.append(_pieces(row, top, room * row.total / longest))
        end = LABEL_WIDTH + max(room * row.total / longest, LEAST_MARK if row.total else 0) + 8
        drawn.append(_value(f"{grouped(row.total)} · {share(row.total, whole)}", end, top))
    said = ", ".join(f"{row.label} {grouped(row.total)}" for row in rows[:12])
    return svg(title, said, len(rows) * ROW, drawn)


def shares(title: str, rows: Sequence[Row]) -> Html:
    """One full-width bar a row, cut by the shares of its parts; the row's count beside it."""
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    drawn: list[Html] = []
    for index, row in enumerate(rows):
        top = index * ROW
        drawn.append(_label(row.label, top))
        drawn.append(_rectangle(LABEL_WIDTH, top, room, "track"))
        drawn.append(_pieces(row, top, room))
        drawn.append(_value(grouped(row.total), LABEL_WIDTH + room + 8, top))
    said = "; ".join(
        f"{row.label}: " + ", ".join(f"{part.name} {share(part.count, row.total)}" for part in row.parts)
        for row in rows[:12]
    )
    return join([legend(rows), svg(title, said, len(rows) * ROW, drawn)])


def legend(rows: Sequence[Row]) -> Html:
    """Which tone means what, in the order of first use."""
    tones = {part.name: part.tone for row in rows for part in row.parts}
    entries = (element("li", element("span", class_=f"swatch {tone}"), crawled(name)) for name, tone in tones.items())
    return element("ul", *entries, class_="legend")


@dataclass(frozen=True, slots=True)
class Curve:
    """A histogram to draw: how many values there are in each octave."""

    label: str
    measure: Measure


def log_histograms(title: str, unit: str, curves: Sequence[Curve]) -> Html:
    """Small histograms above each other on one logarithmic axis, two columns to a doubling, the median marked."""
    columns = [half_octaves(curve.measure) for curve in curves]
    used = [number for counts in columns for number in counts]
    first, last = min(used, default=0), max(used, default=1) + 1
    left, right, height, gap = 58, 20, 96, 44
    step = (WIDTH - left - right) / (last - first)
    drawn: list[Html] = []
    for index, (curve, counts) in enumerate(zip(curves, columns, strict=True)):
        base = index * (height + gap) + height + 18
        highest = max(counts.values(), default=0) or 1
        median = curve.measure.quantile(0.5)
        heading = f"{curve.label}: {grouped(curve.measure.count)} texts"
        drawn.append(words(heading, left, base - height - 6, "label"))
        if median is not None:
            drawn.append(words(f"median {grouped(median)} {unit}", WIDTH - right, base - height - 6, "value end"))
        drawn.append(words(grouped(highest), left - 8, base - height + 8, "axis end"))
        drawn.append(words("0", left - 8, base, "axis end"))
        for number, count in sorted(counts.items()):
            tall = max(height * count / highest, LEAST_MARK)
            tip = element("title", plain(f"{_span(number)} {unit}: {grouped(count)}"))
            drawn.append(
                element(
                    "rect",
                    tip,
                    x=at(left + (number - first) * step + 0.5),
                    y=at(base - tall),
                    width=at(max(step - 1, 0.5)),
                    height=at(tall),
                    class_="tone-1",
                )
            )
        drawn.append(line(left, base, WIDTH - right, base, "rule"))
        for power in range(20):
            place = left + (2 * math.log2(10**power) + 1 - first) * step
            if left <= place <= WIDTH - right:
                drawn.append(line(place, base, place, base + 4, "rule"))
                drawn.append(words(grouped(10**power), place, base + 17, "axis middle"))
        if median is not None and median >= 1:
            place = left + (2 * math.log2(median) + 1 - first) * step
            drawn.append(line(place, base - height, place, base, "median"))
    said = "; ".join(
        f"{curve.label}: {grouped(curve.measure.count)} texts"
        + "".join(f", {part.fraction:.0%} at most {grouped(part.value)}" for part in curve.measure.quantiles)
        for curve in curves
    )
    return svg(title, said, len(curves) * (height + gap), drawn)


def half_octaves(measure: Measure) -> dict[int, int]:
    """Counts by column: 0 holds zero, 1 + 2·k what is from 2^k to √2·2^k, and 2 + 2·k the rest of the octave."""
    counts: dict[int, int] = {}
    for part in measure.bins:
        low = int(part.low)
        if low < 1:
            number = 0
        else:
            octave = low.bit_length() - 1
            number = 1 + 2 * octave + (low * low >= 1 << (2 * octave + 1))
        counts[number] = counts.get(number, 0) + part.count
    return counts


def _span(number: int) -> str:
    if number == 0:
        return "0"
    low, high = (2 ** ((edge - 1) / 2) for edge in (number, number + 1))
    first, last = math.ceil(low - 1e-9), math.ceil(high - 1e-9) - 1
    return grouped(first) if last <= first else f"{grouped(first)} to {grouped(last)}"


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
    inner = (element("title", plain(tip)),) if tip else ()
    return element(
        "rect",
        *inner,
        x=at(left),
        y=at(top + (ROW - BAR) / 2),
        width=at(wide),
        height=at(BAR),
        class_=tone,
    )


def _label(text: str, top: float) -> Html:
    shown = shortened(visible(text), LABEL_CELLS)
    tip = element("title", plain(text))
    return element("text", plain(shown), tip, x=at(LABEL_WIDTH - 10), y=at(top + ROW / 2), class_="label end across")


def _value(text: str, left: float, top: float) -> Html:
    return element("text", plain(text), x=at(left), y=at(top + ROW / 2), class_="value across")


def words(text: str, x: float, y: float, kind: str) -> Html:
    """A piece of text; `kind` is a class of the page's style."""
    return element("text", plain(text), x=at(x), y=at(y), class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    """A straight line."""
    return element("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=kind)


def svg(title: str, said: str, height: float, drawn: Sequence[Html]) -> Html:
    """A drawing of the page's width, with its title and what it shows in words."""
    described = f"{title}. {said}."
    drawing = element(
        "svg",
        element("title", plain(title)),
        join(drawn),
        viewBox=f"0 0 {WIDTH} {at(height)}",
        role="img",
        aria_label=described,
    )
    return element("div", drawing, class_="scroll")


def at(number: float) -> str:
    """A coordinate."""
    return f"{number:.1f}".removesuffix(".0")
