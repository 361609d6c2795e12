"""Histograms of the report: lengths on a shared logarithmic axis, and measures with their thresholds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from winnow.runners.report.markup import Html
from winnow.runners.report.plots.drawing import (
    LABEL_BELOW,
    LEAST_MARK,
    WIDTH,
    Axis,
    Tick,
    even_ticks,
    horizontal_axis,
    line,
    rectangle,
    small_svg,
    svg,
    words,
)
from winnow.runners.tables.quantities import grouped
from winnow.schemas.counts import count_of
from winnow.schemas.summary import Measure

COLUMNS = 24  # the statistics' bins are up to 1/16 wide; finer columns would show false gaps
LEFT, RIGHT = 58, 20
LENGTH_HEIGHT, LENGTH_GAP, LENGTH_TOP = 96, 44, 18
SMALL_WIDTH, SMALL_COLUMNS, SMALL_TOP = 300, 70, 30
"""Of drawings beside each other."""
WIDE_SPREAD = 40
"""A measure whose large values exceed its small ones by this factor is drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A histogram to draw, with a label."""

    label: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Mark:
    """A threshold and its label."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class _Column:
    left: float
    right: float
    count: int
    tip: str


def log_histograms(title: str, unit: str, curves: Sequence[Curve]) -> Html:
    """Small stacked histograms on one logarithmic axis, with two columns per doubling and the median marked."""
    columns = [half_octaves(curve.measure) for curve in curves]
    used = [number for counts in columns for number in counts]
    first, last = min(used, default=0), max(used, default=1) + 1
    axis = Axis(_edge(first), _edge(last), LEFT, WIDTH - RIGHT, "log")
    drawn: list[Html] = []
    for index, (curve, counts) in enumerate(zip(curves, columns, strict=True)):
        base = index * (LENGTH_HEIGHT + LENGTH_GAP) + LENGTH_HEIGHT + LENGTH_TOP
        drawn += _lengths(curve, unit, counts, axis, base)
    description = "; ".join(
        f"{curve.label}: {count_of(curve.measure.count, 'text')}"
        + "".join(f", {part.fraction:.0%} at most {grouped(part.value)}" for part in curve.measure.quantiles)
        for curve in curves
    )
    return svg(title, description, len(curves) * (LENGTH_HEIGHT + LENGTH_GAP), drawn)


def small_histogram(title: str, measure: Measure, marks: Sequence[Mark]) -> Html:
    """Counts by value, with a line at each threshold."""
    axis = _axis(measure, marks)
    counts = [0] * COLUMNS
    for part in measure.bins:
        share = (axis.place((part.low + part.high) / 2) - axis.start) / (axis.end - axis.start)
        counts[min(COLUMNS - 1, int(share * COLUMNS))] += part.count
    description = f"{grouped(measure.count)} values; thresholds {', '.join(mark.label for mark in marks)}"
    return _small(title, description, axis, counts, marks)


def small_counted_histogram(
    title: str, low: float, high: float, counts: Sequence[int], marks: Sequence[Mark] = ()
) -> Html:
    """Counts of equal columns from `low` to `high`, with a line at each mark."""
    description = f"{grouped(sum(counts))} values from {low:.4g} to {high:.4g}"
    marked = f"; marks {', '.join(mark.label for mark in marks)}" if marks else ""
    return _small(title, description + marked, Axis(low, high, 0, SMALL_WIDTH), counts, marks)


def small_columns(title: str, unit: str, counts: Sequence[tuple[str, int]]) -> Html:
    """A named column for each count."""
    wide = SMALL_WIDTH / max(len(counts), 1)
    base = SMALL_TOP + SMALL_COLUMNS
    columns = [
        _Column(place * wide + 2, (place + 1) * wide - 2, count, f"{name}: {unit}")
        for place, (name, count) in enumerate(counts)
    ]
    drawn = [*_columns(columns, base, SMALL_COLUMNS), line(0, base, SMALL_WIDTH, base, "rule")]
    for place, (name, count) in enumerate(counts):
        middle = (place + 0.5) * wide
        drawn.append(words(name, middle, base + LABEL_BELOW, "axis middle"))
        if count:
            drawn.append(words(grouped(count), middle, base - _tall(columns, count, SMALL_COLUMNS) - 5, "axis middle"))
    description = ", ".join(f"{name}: {grouped(count)} {unit}" for name, count in counts)
    return small_svg(title, description, SMALL_WIDTH, base + LABEL_BELOW + 6, drawn)


def half_octaves(measure: Measure) -> dict[int, int]:
    """Counts by column: 0 holds zero, 1 + 2·k values from 2^k to √2·2^k, and 2 + 2·k the rest of the octave."""
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


def _edge(number: int) -> float:
    """The start of a column of `half_octaves`; the column of zero is as wide as the others."""
    return float(2 ** ((number - 1) / 2))


def _span(number: int) -> str:
    if number == 0:
        return "0"
    low, high = _edge(number), _edge(number + 1)
    first, last = math.ceil(low - 1e-9), math.ceil(high - 1e-9) - 1
    return grouped(first) if last <= first else f"{grouped(first)} to {grouped(last)}"


def _lengths(curve: Curve, unit: str, counts: Mapping[int, int], axis: Axis, base: float) -> list[Html]:
    columns = [
        _Column(axis.place(_edge(number)), axis.place(_edge(number + 1)), count, f"{_span(number)} {unit}")
        for number, count in sorted(counts.items())
    ]
    powers = [Tick(10**power, grouped(10**power)) for power in range(20)]
    drawn = [
        words(f"{curve.label}: {count_of(curve.measure.count, 'text')}", LEFT, base - LENGTH_HEIGHT - 6, "label"),
        *_scale(columns, base, LENGTH_HEIGHT),
        *_columns(columns, base, LENGTH_HEIGHT),
        *horizontal_axis(axis, base, [power for power in powers if axis.low <= power.value <= axis.high]),
    ]
    median = curve.measure.quantile(0.5)
    if median is not None:
        description = f"median {grouped(median)} {unit}"
        drawn.append(words(description, WIDTH - RIGHT, base - LENGTH_HEIGHT - 6, "value end"))
    if median is not None and median >= 1:
        place = axis.place(median)
        drawn.append(line(place, base - LENGTH_HEIGHT, place, base, "median"))
    return drawn


def _small(title: str, description: str, axis: Axis, counts: Sequence[int], marks: Sequence[Mark]) -> Html:
    base, room = SMALL_TOP + SMALL_COLUMNS, axis.end - axis.start
    columns = []
    for number, count in enumerate(counts):
        first, last = number / len(counts), (number + 1) / len(counts)
        tip = f"{axis.value(first):.4g} to {axis.value(last):.4g}"
        columns.append(_Column(axis.start + room * first, axis.start + room * last, count, tip))
    drawn = [*_columns(columns, base, SMALL_COLUMNS), *horizontal_axis(axis, base, even_ticks(axis, 3))]
    highest = f"highest column: {grouped(max(counts, default=0))}"
    drawn.append(words(f"{highest}, logarithmic" if axis.kind != "linear" else highest, 0, SMALL_TOP - 14, "axis"))
    for mark in marks:
        x = axis.place(mark.value)
        drawn.append(line(x, SMALL_TOP - 8, x, base, "median"))
    return small_svg(title, description, SMALL_WIDTH, base + LABEL_BELOW + 6, drawn)


def _tall(columns: Sequence[_Column], count: int, height: float) -> float:
    """The height of a column beside the others."""
    return max(height * count / (max((column.count for column in columns), default=0) or 1), LEAST_MARK)


def _scale(columns: Sequence[_Column], base: float, height: float) -> list[Html]:
    """The scale of columns, on their left."""
    highest = max((column.count for column in columns), default=0) or 1
    return [words(grouped(highest), LEFT - 8, base - height + 8, "axis end"), words("0", LEFT - 8, base, "axis end")]


def _columns(columns: Iterable[_Column], base: float, height: float) -> list[Html]:
    """Columns on a base line, scaled so that the highest fits."""
    columns = list(columns)
    drawn = []
    for column in columns:
        if column.count:
            tall = _tall(columns, column.count, height)
            wide = max(column.right - column.left - 1, 0.5)
            tip = f"{column.tip}: {grouped(column.count)}"
            drawn.append(rectangle(column.left + 0.5, base - tall, wide, tall, "tone-1", tip))
    return drawn


def _axis(measure: Measure, marks: Sequence[Mark]) -> Axis:
    values = [value for value in (measure.minimum, measure.maximum) if value is not None]
    values += [mark.value for mark in marks]
    low, high = float(min(values, default=0)), float(max(values, default=1))
    quarter = measure.quantile(0.25) or 0
    wide = low >= 0 and high > 10 and high > WIDE_SPREAD * max(float(quarter), 1.0)
    if high <= low:
        return Axis(low - 0.5, low + 0.5, 0, SMALL_WIDTH)
    return Axis(low, high, 0, SMALL_WIDTH, "log1p" if wide else "linear")
