"""The parts of every plot: axes and their ticks, marks, and the SVG around them.

A plot of the report takes its colours from the page; a plot in its own file includes them, light and dark, and without
variables, which converters to PNG and PDF do not support. Every plot has a title and a description for people who
cannot see it. Coordinates are rounded to a tenth, so equal numbers give equal bytes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from winnow.runners.report.markup import Html, element, join, plain
from winnow.runners.report.style import file_style
from winnow.runners.tables.quantities import grouped

WIDTH: Final = 760
LEAST_MARK: Final = 1.5
"""The minimum width of a mark, so that small values stay visible."""
TONES: Final = tuple(f"tone-{number}" for number in range(1, 9))
TICK: Final = 4
LABEL_BELOW: Final = 17
"""From an axis down to the baseline of its labels."""

Point = tuple[float, float]

_CORNERS: Final[dict[str, Sequence[Point]]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "falling": ((0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    "bar": ((-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)),
    "beam": ((-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)),
    "hourglass": ((-1.1, -1.1), (1.1, -1.1), (-1.1, 1.1), (1.1, 1.1)),
}
SHAPES: Final = ("circle", *_CORNERS)
"""The shapes of points, which can be told apart without colour."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to coordinates: `low` to `start` and `high` to `end`; a vertical axis starts below its end."""

    low: float
    high: float
    start: float
    end: float
    kind: Literal["linear", "log", "log1p"] = "linear"

    def place(self, value: float) -> float:
        """The coordinate of a value; values beyond an end are placed at that end."""
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        share = 0.5 if high == low else min(1.0, max(0.0, (here - low) / (high - low)))
        return self.start + (self.end - self.start) * share

    def value(self, share: float) -> float:
        """The value at a share of the way from start to end."""
        low, high = self._bent(self.low), self._bent(self.high)
        bent = low + share * (high - low)
        if self.kind == "linear":
            return bent
        return math.exp(bent) if self.kind == "log" else math.expm1(bent)

    def _bent(self, value: float) -> float:
        if self.kind == "linear":
            return value
        return math.log(value) if self.kind == "log" else math.log1p(max(value, 0.0))


@dataclass(frozen=True, slots=True)
class Tick:
    """A position on an axis, and its label."""

    value: float
    label: str


def even_ticks(axis: Axis, count: int) -> list[Tick]:
    """Ticks at equal distances, the first and the last at the ends."""
    values = [axis.value(step / (count - 1)) for step in range(count)]
    return [Tick(value, grouped(round(value)) if abs(value) >= 100 else f"{value:.3g}") for value in values]


def round_ticks(axis: Axis, most: int) -> list[Tick]:
    """Ticks at multiples of 1, 2 or 5 times a power of ten, at most `most`."""
    wide = axis.high - axis.low
    power = 10.0 ** math.floor(math.log10(wide / most))
    step = next(power * times for times in (1, 2, 5, 10) if wide / (power * times) <= most)
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return [Tick(number * step, f"{number * step:.3g}") for number in range(first, last + 1)]


def horizontal_axis(axis: Axis, y: float, ticks: Iterable[Tick]) -> list[Html]:
    """A line with ticks and labels below it; labels at the ends stay inside."""
    drawn = [line(axis.start, y, axis.end, y, "rule")]
    for tick in ticks:
        x = axis.place(tick.value)
        kind = "axis" if x <= axis.start else "axis end" if x >= axis.end else "axis middle"
        drawn.append(line(x, y, x, y + TICK, "rule"))
        drawn.append(words(tick.label, x, y + LABEL_BELOW, kind))
    return drawn


def horizontal_grid(axis: Axis, left: float, right: float, ticks: Iterable[Tick]) -> list[Html]:
    """Lines across a plot at the ticks of its vertical axis, labelled on the left."""
    drawn = []
    for tick in ticks:
        y = axis.place(tick.value)
        drawn.append(line(left, y, right, y, "rule"))
        drawn.append(words(tick.label, left - 8, y + 4, "axis end"))
    return drawn


def words(text: str, x: float, y: float, kind: str) -> Html:
    """A piece of text; `kind` is a class of the page's style."""
    return element("text", plain(text), x=at(x), y=at(y), class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    """A straight line."""
    return element("line", x1=at(x1), y1=at(y1), x2=at(x2), y2=at(y2), class_=kind)


def rectangle(left: float, top: float, wide: float, tall: float, tone: str, tip: str = "") -> Html:
    """A filled rectangle."""
    corner = {"x": at(left), "y": at(top)}
    return element("rect", *_tip(tip), **corner, width=at(wide), height=at(tall), class_=tone)


def trace(points: Sequence[Point], tone: str) -> Html:
    """A line through points."""
    return element("polyline", points=_coordinates(points), class_=f"trace {tone}")


def area(points: Sequence[Point], tone: str, tip: str = "") -> Html:
    """What lies inside points, so pale that lines behind it are seen."""
    return element("polygon", *_tip(tip), points=_coordinates(points), class_=f"area {tone}")


def mark(shape: str, x: float, y: float, tone: str, size: float = 3.5) -> Html:
    """A point that was measured."""
    kind = f"mark {tone}"
    if shape == "circle":
        return element("circle", cx=at(x), cy=at(y), r=at(size), class_=kind)
    corners = [(x + size * across, y + size * down) for across, down in _CORNERS[shape]]
    return element("polygon", points=_coordinates(corners), class_=kind)


def small_svg(title: str, description: str, width: float, height: float, drawn: Iterable[Html]) -> Html:
    """One of several drawings beside each other, which grow and shrink with the page."""
    return _svg(title, description, width, height, drawn, class_="small")


def svg(title: str, description: str, height: float, drawn: Iterable[Html]) -> Html:
    """A drawing of the page's width, with its title and what it shows in words."""
    return element("div", _svg(title, description, WIDTH, height, drawn), class_="scroll")


def svg_file(title: str, description: str, width: float, height: float, drawn: Iterable[Html]) -> bytes:
    """A drawing in a file of its own; it is light or dark with its reader's screen."""
    card = element("rect", width=at(width), height=at(height), class_="card")
    size = {"xmlns": "http://www.w3.org/2000/svg", "width": at(width), "height": at(height)}
    parts = [element("style", Html(file_style())), card, *drawn]
    return f"{_svg(title, description, width, height, parts, **size)}\n".encode()


def _svg(
    title: str, description: str, width: float, height: float, drawn: Iterable[Html], /, **attributes: str
) -> Html:
    named = {"viewBox": f"0 0 {at(width)} {at(height)}", "role": "img", "aria_label": f"{title}. {description}."}
    return element("svg", element("title", plain(title)), join(drawn), **attributes, **named)


def at(number: float) -> str:
    """A coordinate."""
    return f"{number:.1f}".removesuffix(".0")


def _coordinates(points: Sequence[Point]) -> str:
    return " ".join(f"{at(x)},{at(y)}" for x, y in points)


def _tip(text: str) -> tuple[Html, ...]:
    return (element("title", plain(text)),) if text else ()
