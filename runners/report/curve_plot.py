"""The S-curve as a picture: blocks for the terminal, SVG for a file, with what it misses and what it finds in vain."""

import numpy as np

from winnow.filters.duplicates.curves import half_point, probabilities
from winnow.runners.report.markup import Html, element, join, plain
from winnow.runners.report.plots import WIDTH, at, line, words
from winnow.runners.report.style import STYLE

TALL, WIDE = 8, 51
"""Lines and columns of the terminal's plot: a column for each 0.02 of similarity."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:#"

POINTS = 201
LEFT, RIGHT, TOP, BELOW, ROOM = 58, 20, 44, 50, 300
HEIGHT = TOP + ROOM + BELOW
_OWN_STYLE = "svg { background: var(--card); }\n"


def block_plot(bands: int, rows: int, threshold: float, *, ascii_only: bool) -> list[str]:
    """Lines of a plot of P from similarity 0 to 1, with a mark under the threshold."""
    steps = _ASCII if ascii_only else _BLOCKS
    each = len(steps) - 1
    levels = np.rint(probabilities(np.linspace(0, 1, WIDE), bands, rows) * TALL * each).astype(int)
    drawn = []
    for number in range(TALL, 0, -1):
        filled = "".join(steps[min(each, max(0, int(level) - (number - 1) * each))] for level in levels)
        name = "1" if number == TALL else "P" if number == TALL // 2 else ""
        drawn.append(f"{name:>2} {'|' if ascii_only else '│'}{filled}".rstrip())
    rule = "-" if ascii_only else "─"
    drawn.append(f" 0 {'+' if ascii_only else '└'}{rule * WIDE}")
    marked = [" "] * WIDE
    marked[round(threshold * (WIDE - 1))] = "^"
    drawn.append("    " + "".join(marked).rstrip() + f" {threshold:g}")
    drawn.append("    0" + "similarity".center(WIDE - 2) + "1")
    return drawn


def curve_file(title: str, bands: int, rows: int, threshold: float, recall: str, vain: str) -> str:
    """A whole SVG file; it takes its colours from the report, and is light or dark with its reader's screen."""
    half = half_point(bands, rows)
    said = f"half point {half:.3f}; recall at or above {threshold:g}: {recall}; false candidates below it: {vain}"
    drawing = element(
        "svg",
        element("title", plain(title)),
        element("style", Html(STYLE + _OWN_STYLE)),
        join(drawn_curve(title, bands, rows, threshold, recall, vain)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{title}. {said}.",
    )
    return f"{drawing}\n"


def drawn_curve(title: str, bands: int, rows: int, threshold: float, recall: str, vain: str) -> list[Html]:
    """The marks of the picture, for a drawing `WIDTH` wide and `HEIGHT` high."""
    base = TOP + ROOM
    similarities = np.union1d(np.linspace(0, 1, POINTS), [threshold])  # the two areas meet at the threshold
    found = probabilities(similarities, bands, rows)
    points = [(_across(float(s)), base - ROOM * float(p)) for s, p in zip(similarities, found, strict=True)]
    edge = _across(threshold)
    below = [(x, y) for x, y in points if x <= edge]
    above = [(x, y) for x, y in points if x >= edge]
    drawn = [
        words(title, LEFT, 18, "label"),
        _area([(LEFT, base), *below, (edge, base)], "dropped", "compared in vain"),
        _area([(edge, TOP), *above], "quarantined", "missed"),
    ]
    for step in range(5):
        share = step / 4
        drawn.append(line(LEFT, base - ROOM * share, WIDTH - RIGHT, base - ROOM * share, "rule"))
        drawn.append(words(f"{share:g}", LEFT - 8, base - ROOM * share + 4, "axis end"))
        drawn.append(words(f"{share:g}", _across(share), base + 17, "axis middle"))
    drawn.append(words("similarity", _across(0.5), base + 36, "axis middle"))
    half = half_point(bands, rows)
    drawn.append(line(edge, TOP - 8, edge, base, "median"))
    drawn.append(words(f"threshold {threshold:g}", edge, TOP - 12, "value end" if threshold > 0.5 else "value"))
    drawn.append(_stroke(points))
    drawn.append(element("circle", cx=at(_across(half)), cy=at(base - ROOM / 2), r="5", class_="tone-1"))
    # Where the legend stands the curve is not: a late one is low on the left, an early one is high on the right.
    place, kind, top = (WIDTH - RIGHT - 8, "value end", base - 52) if half < 0.5 else (LEFT + 8, "value", TOP + 18)
    legend = (
        f"half point: {half:.3f}",
        f"recall at or above the threshold: {recall}",
        f"false candidates below it: {vain}",
    )
    drawn += [words(text, place, top + 18 * number, kind) for number, text in enumerate(legend)]
    return drawn


def _across(similarity: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * similarity


def _coordinates(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{at(x)},{at(y)}" for x, y in points)


def _stroke(points: list[tuple[float, float]]) -> Html:
    style = "fill: none; stroke: var(--tone-1); stroke-width: 2.5"
    return element("polyline", points=_coordinates(points), style=style)


def _area(points: list[tuple[float, float]], tone: str, tip: str) -> Html:
    said = element("title", plain(tip))
    return element("polygon", said, points=_coordinates(points), class_=tone, style="opacity: .3")
