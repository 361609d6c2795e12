"""Draws the S-curve as an SVG file, with the pairs it misses and those it compares needlessly."""

import numpy as np

from winnow.filters.duplicates.curves import half_point, probabilities
from winnow.runners.report.plots.drawing import (
    WIDTH,
    Axis,
    Tick,
    area,
    horizontal_axis,
    horizontal_grid,
    line,
    mark,
    svg_file,
    trace,
    words,
)

POINTS = 201
LEFT, RIGHT, TOP, BELOW, ROOM = 58, 20, 44, 50, 300
HEIGHT = TOP + ROOM + BELOW


def curve_file(title: str, bands: int, rows: int, threshold: float, recall: str, false_share: str) -> bytes:
    """The content of the SVG file."""
    base = TOP + ROOM
    across, up = Axis(0, 1, LEFT, WIDTH - RIGHT), Axis(0, 1, base, TOP)
    ticks = [Tick(step / 4, f"{step / 4:g}") for step in range(5)]
    similarities = np.union1d(np.linspace(0, 1, POINTS), [threshold])  # the two areas meet at the threshold
    found = probabilities(similarities, bands, rows)
    points = [(across.place(float(s)), up.place(float(p))) for s, p in zip(similarities, found, strict=True)]
    edge = across.place(threshold)
    below = [(x, y) for x, y in points if x <= edge]
    above = [(x, y) for x, y in points if x >= edge]
    half = half_point(bands, rows)
    # The legend avoids the curve: a late one is low on the left, an early one is high on the right.
    place, kind, top = (WIDTH - RIGHT - 8, "value end", base - 52) if half < 0.5 else (LEFT + 8, "value", TOP + 18)
    legend = (
        f"half point: {half:.3f}",
        f"recall at or above the threshold: {recall}",
        f"false candidates below it: {false_share}",
    )
    drawn = [
        words(title, LEFT, 18, "label"),
        area([(LEFT, base), *below, (edge, base)], "dropped", "compared needlessly"),
        area([(edge, TOP), *above], "quarantined", "missed"),
        *horizontal_grid(up, LEFT, WIDTH - RIGHT, ticks),
        *horizontal_axis(across, base, ticks),
        words("similarity", across.place(0.5), base + 36, "axis middle"),
        line(edge, TOP - 8, edge, base, "median"),
        words(f"threshold {threshold:g}", edge, TOP - 12, "value end" if threshold > 0.5 else "value"),
        trace(points, "tone-1"),
        mark("circle", across.place(half), up.place(0.5), "tone-1", 5),
        *(words(text, place, top + 18 * number, kind) for number, text in enumerate(legend)),
    ]
    description = (
        f"half point {half:.3f}; recall at or above {threshold:g}: {recall}; false candidates below it: {false_share}"
    )
    return svg_file(title, description, WIDTH, HEIGHT, drawn)
