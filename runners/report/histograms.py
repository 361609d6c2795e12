"""Histograms with thresholds drawn in, as inline SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.runners.report.markup import Html, element, plain
from winnow.runners.report.plots import LEAST_MARK, WIDTH, at, line, svg, words
from winnow.runners.terminal.quantities import grouped
from winnow.schemas.summary import Measure

COLUMNS = 24  # the statistics' own bins are up to 1/16 wide; finer columns would show gaps that are not there
HEIGHT = 110
LEFT, RIGHT, TOP, BELOW = 58, 20, 34, 36
WIDE_SPREAD = 40
"""A measure whose larger values are so many times its smaller ones is drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A threshold: where it is, and what to call it."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    def place(self, value: float) -> float:
        """From 0 at the left to 1 at the right."""
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        return min(1.0, max(0.0, (here - low) / (high - low)))

    def value(self, place: float) -> float:
        """The value at a place."""
        low, high = self._bent(self.low), self._bent(self.high)
        bent = low + place * (high - low)
        return math.expm1(bent) if self.logarithmic else bent

    def _bent(self, value: float) -> float:
        return math.log1p(max(value, 0.0)) if self.logarithmic else value


def histogram(title: str, measure: Measure, marks: Sequence[Mark]) -> Html:
    """Counts by value from the least to the greatest, with a line at each threshold."""
    axis = _axis(measure, marks)
    counts = [0] * COLUMNS
    for part in measure.bins:
        place = axis.place((part.low + part.high) / 2)
        counts[min(COLUMNS - 1, int(place * COLUMNS))] += part.count
    said = f"{grouped(measure.count)} values; thresholds {', '.join(mark.label for mark in marks)}"
    return _drawn(title, said, axis, counts, marks)


def counted_histogram(title: str, low: float, high: float, counts: Sequence[int], marks: Sequence[Mark] = ()) -> Html:
    """Counts that were taken in equal columns from `low` to `high` already, with a line at each mark."""
    said = f"{grouped(sum(counts))} values from {low:.4g} to {high:.4g}"
    marked = f"; marks {', '.join(mark.label for mark in marks)}" if marks else ""
    return _drawn(title, said + marked, _Axis(low, high, False), counts, marks)


def _drawn(title: str, said: str, axis: _Axis, counts: Sequence[int], marks: Sequence[Mark]) -> Html:
    highest = max(counts) or 1
    base, room = TOP + HEIGHT, WIDTH - LEFT - RIGHT
    drawn: list[Html] = [words(grouped(highest), LEFT - 8, TOP + 8, "axis end"), words("0", LEFT - 8, base, "axis end")]
    for number, count in enumerate(counts):
        if not count:
            continue
        tall = max(HEIGHT * count / highest, LEAST_MARK)
        low, high = (axis.value(edge / len(counts)) for edge in (number, number + 1))
        tip = element("title", plain(f"{low:.4g} to {high:.4g}: {grouped(count)}"))
        left = LEFT + room * number / len(counts)
        wide = max(room / len(counts) - 1, 0.5)
        bar = element("rect", tip, x=at(left), y=at(base - tall), width=at(wide), height=at(tall), class_="tone-1")
        drawn.append(bar)
    drawn.append(line(LEFT, base, WIDTH - RIGHT, base, "rule"))
    for step in range(5):
        x = LEFT + room * step / 4
        drawn.append(line(x, base, x, base + 4, "rule"))
        kind = "axis middle" if 0 < step < 4 else ("axis" if step == 0 else "axis end")
        drawn.append(words(_tick(axis.value(step / 4)), x, base + 17, kind))
    if axis.logarithmic:
        drawn.append(words("logarithmic", WIDTH - RIGHT, base + 29, "axis end"))
    for number, mark in enumerate(marks):
        x = LEFT + room * axis.place(mark.value)
        drawn.append(line(x, TOP - 4, x, base, "median"))
        kind = "value end" if x > WIDTH / 2 else "value"
        drawn.append(words(mark.label, x + (-4 if x > WIDTH / 2 else 4), TOP - 20 + 12 * (number % 2), kind))
    return svg(title, said, base + BELOW, drawn)


def _tick(value: float) -> str:
    return grouped(round(value)) if abs(value) >= 100 else f"{value:.3g}"


def _axis(measure: Measure, marks: Sequence[Mark]) -> _Axis:
    values = [value for value in (measure.minimum, measure.maximum) if value is not None]
    values += [mark.value for mark in marks]
    low, high = float(min(values, default=0)), float(max(values, default=1))
    quarter = measure.quantile(0.25) or 0
    wide = low >= 0 and high > 10 and high > WIDE_SPREAD * max(float(quarter), 1.0)
    if high <= low:
        return _Axis(low - 0.5, low + 0.5, False)
    return _Axis(low, high, wide)
