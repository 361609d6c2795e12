"""The plots of `winnow law` as SVG files: losses with the fitted law, and shares with intervals.

Equal inputs give equal bytes. Names of families are escaped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from winnow.runners.report.markup import Html
from winnow.runners.report.plots.drawing import (
    SHAPES,
    TONES,
    WIDTH,
    Axis,
    Point,
    Tick,
    area,
    horizontal_axis,
    horizontal_grid,
    line,
    mark,
    round_ticks,
    svg_file,
    trace,
    words,
)
from winnow.runners.stages.law.views import confidence
from winnow.runners.tables.escaping import shortened, visible
from winnow.schemas.law import FamilyLaw, ScalingLaw
from winnow.scoring.scaling_law.mixing import Ratios
from winnow.scoring.scaling_law.models import cells_of
from winnow.scoring.scaling_law.predicting import drawn_exponents, drawn_scales, exponents, scales
from winnow.scoring.scaling_law.runs import RunTable

MOST_PANELS: Final = 12
MOST_CELLS: Final = 9
MOST_BARS: Final = 40
SHARES: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
CURVE_POINTS: Final = 24
NAME_CELLS: Final = 40
LABEL_CELLS: Final = 26

LEFT, RIGHT, TOP, BELOW = 58, 16, 34, 44  # around a panel's axes
HEADING, LEGEND_ROW, LEGEND_TOP = 52, 20, 22
PANEL_WIDTH, PANEL_HEIGHT = 300, 190
LABEL_WIDTH, ROW = 190, 26

Cells = Sequence[tuple[float, float]]
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class _Style:
    tone: str
    shape: str


@dataclass(frozen=True, slots=True)
class _Fitted:
    """One N and D in a panel: the runs, the law, and the band of its bootstrap draws, if any."""

    style: _Style
    p: Floats
    loss: Floats
    curve: Floats
    band: tuple[Floats, Floats] | None

    def losses(self) -> list[float]:
        """All losses that must fit on the axis."""
        return [float(loss) for column in (self.loss, self.curve, *(self.band or ())) for loss in column]


def fit_plot(law: ScalingLaw, table: RunTable) -> bytes:
    """Loss against p for each family on logarithmic axes: every run, the law, and the band of its draws."""
    families = law.families[:MOST_PANELS]
    every = cells_of(table)[0]
    cells = _some(every)
    across = 2 if len(families) == 4 else min(3, len(families))
    down = math.ceil(len(families) / across)
    wide = max(PANEL_WIDTH, WIDTH / across)
    title = f"Loss against the family's share ({_cut(law.units.loss)})"
    description = [f"bands: {confidence(law)} of the bootstrap's draws"]
    if len(cells) < len(every):
        description.append(f"{len(cells)} of {len(every)} pairs of N and D")
    if left_out := len(law.families) - len(families):
        description.append(f"{left_out} more families not shown")
    drawn = _heading(title, "; ".join(description))
    for place, family in enumerate(families):
        left, top = place % across * wide, HEADING + place // across * (TOP + PANEL_HEIGHT + BELOW)
        drawn += _panel(law, family, table.of(family.family), cells, left, top, wide)
    bottom = HEADING + down * (TOP + PANEL_HEIGHT + BELOW) + LEGEND_TOP
    entries = [(style, f"N {n:.3g}, D {d:.3g}") for (n, d), style in zip(cells, _styles(cells), strict=True)]
    drawn += _legend(entries, bottom, wide * across)
    return svg_file(
        title, "; ".join(description), wide * across, bottom + math.ceil(len(entries) / 3) * LEGEND_ROW, drawn
    )


def ratios_plot(law: ScalingLaw, weightings: Sequence[tuple[str, Ratios]]) -> bytes:
    """Shares with their intervals: one line per family, the largest first, with a mark for each weighting."""
    first = weightings[0][1]
    order = sorted(range(len(first.families)), key=lambda place: (-first.shares[place], first.families[place]))
    left_out = len(order) - len(order[:MOST_BARS])
    order = order[:MOST_BARS]
    title = f"Shares of least loss{f'; {left_out} smaller ones not shown' if left_out else ''}"
    description = f"shares of all tokens, with {confidence(law)} intervals"
    highest = max(max(ratios.shares[place], ratios.high[place]) for _, ratios in weightings for place in order)
    axis = Axis(0, highest, LABEL_WIDTH, WIDTH - RIGHT - 24)
    base = HEADING + len(order) * ROW
    equal = axis.place(sum(first.shares) / len(first.shares))
    styles = [_Style(TONES[(0, 4, 2)[number % 3]], SHAPES[number % len(SHAPES)]) for number in range(len(weightings))]
    drawn = _heading(title, description)
    ticks = round_ticks(axis, 6)
    drawn += [line(axis.place(tick.value), HEADING, axis.place(tick.value), base, "rule") for tick in ticks[1:]]
    drawn += horizontal_axis(axis, base, ticks)
    drawn.append(line(equal, HEADING - 6, equal, base, "median"))
    for row, place in enumerate(order):
        y = HEADING + (row + 0.5) * ROW
        drawn.append(
            words(shortened(visible(first.families[place]), LABEL_CELLS), LABEL_WIDTH - 10, y + 4, "label end")
        )
        for number, (_, ratios) in enumerate(weightings):
            apart = (number - (len(weightings) - 1) / 2) * ROW / 3.5
            drawn += _interval(axis, ratios, place, y + apart, styles[number])
    bottom = base + BELOW + LEGEND_TOP
    entries = [(style, _cut(name)) for style, (name, _) in zip(styles, weightings, strict=True)]
    drawn.append(line(LEFT, bottom - 4, LEFT + 24, bottom - 4, "median"))
    drawn.append(words("equal shares", LEFT + 32, bottom, "value"))
    drawn += _legend(entries, bottom, WIDTH, skipped=1)
    return svg_file(title, description, WIDTH, bottom + math.ceil((len(entries) + 1) / 3) * LEGEND_ROW, drawn)


def _heading(title: str, description: str) -> list[Html]:
    return [words(title, 16, 20, "label"), words(description, 16, 40, "value")]


def _legend(entries: Sequence[tuple[_Style, str]], top: float, wide: float, skipped: int = 0) -> list[Html]:
    """Three entries per row; the first `skipped` positions are taken."""
    drawn = []
    for number, (style, name) in enumerate(entries, skipped):
        x, y = LEFT + number % 3 * (wide - LEFT) / 3, top + number // 3 * LEGEND_ROW
        drawn.append(trace([(x, y - 4), (x + 24, y - 4)], style.tone))
        drawn.append(mark(style.shape, x + 12, y - 4, style.tone))
        drawn.append(words(name, x + 32, y, "value"))
    return drawn


def _interval(axis: Axis, ratios: Ratios, place: int, y: float, style: _Style) -> list[Html]:
    low, high, share = (axis.place(column[place]) for column in (ratios.low, ratios.high, ratios.shares))
    ends = [trace([(x, y - 3), (x, y + 3)], style.tone) for x in (low, high)]
    return [trace([(low, y), (high, y)], style.tone), *ends, mark(style.shape, share, y, style.tone)]


def _panel(
    law: ScalingLaw, family: FamilyLaw, rows: RunTable, cells: Cells, left: float, top: float, wide: float
) -> list[Html]:
    fitted = _fitted(law, family, rows, cells)
    losses = [loss for one in fitted for loss in one.losses()]
    low, high = min(losses, default=1.0), max(losses, default=1.0)
    margin = (high / low) ** 0.04 if high > low else 1.1
    base = top + TOP + PANEL_HEIGHT
    across = Axis(family.fitted.p_min / 1.12, family.fitted.p_max * 1.12, left + LEFT, left + wide - RIGHT, "log")
    up = Axis(low / margin, high * margin, base, top + TOP, "log")
    grid = [Tick(loss, f"{loss:.3g}") for loss in np.geomspace(low, high, 5 if high > low else 1).tolist()]
    shares = _share_ticks(across)
    drawn = [
        words(f"{_cut(family.family)}: gamma {family.gamma.value:.4f}", left + LEFT, top + 18, "label"),
        words("loss", left + LEFT - 8, top + TOP - 6, "axis end"),
        words("p", left + wide - RIGHT, base + 33, "axis end"),
        *(line(across.place(tick.value), top + TOP, across.place(tick.value), base, "rule") for tick in shares),
        *horizontal_grid(up, across.start, across.end, grid),
        *horizontal_axis(across, base, shares),
    ]
    p = _across_range(family)
    for one in fitted:  # all bands first, so that the runs are drawn on top
        if one.band is not None:
            under, over = (_points(across, up, p, edge) for edge in one.band)
            drawn.append(area([*under, *reversed(over)], one.style.tone))
    drawn += [trace(_points(across, up, p, one.curve), one.style.tone) for one in fitted]
    for one in fitted:
        points = _points(across, up, one.p, one.loss)
        drawn += [mark(one.style.shape, x, y, one.style.tone) for x, y in points]
    return drawn


def _fitted(law: ScalingLaw, family: FamilyLaw, rows: RunTable, cells: Cells) -> list[_Fitted]:
    alone = replace(law, families=(family,))
    p = _across_range(family)
    gamma, drawn = float(exponents(alone)[0]), drawn_exponents(alone)
    tail = (1 - law.provenance.confidence) / 2
    found = []
    for (n, d), style in zip(cells, _styles(cells), strict=True):
        here = (rows.n == n) & (rows.d == d)
        if not here.any():
            continue
        band = None
        if len(drawn):
            low, high = np.quantile(drawn_scales(alone, n, d) * p**-drawn, [tail, 1 - tail], axis=0)
            band = low, high
        curve = scales(alone, n, d)[0] * p**-gamma
        found.append(_Fitted(style, rows.p[here], rows.loss[here], curve, band))
    return found


def _across_range(family: FamilyLaw) -> Floats:
    return np.geomspace(family.fitted.p_min, family.fitted.p_max, CURVE_POINTS)


def _points(across: Axis, up: Axis, p: Floats, losses: Floats) -> list[Point]:
    return [(across.place(share), up.place(loss)) for share, loss in zip(p.tolist(), losses.tolist(), strict=True)]


def _share_ticks(axis: Axis) -> list[Tick]:
    """Round shares, spaced so that their labels do not touch."""
    kept: list[Tick] = []
    for share in SHARES:
        far = not kept or axis.place(share) - axis.place(kept[-1].value) > 40
        if axis.low <= share <= axis.high and far:
            kept.append(Tick(share, f"{share:.3g}"))
    return kept or [Tick(axis.value(0.5), f"{axis.value(0.5):.3g}")]


def _some(cells: Cells) -> Cells:
    """At most `MOST_CELLS`, from the first to the last."""
    if len(cells) <= MOST_CELLS:
        return cells
    places = np.unique(np.rint(np.linspace(0, len(cells) - 1, MOST_CELLS)).astype(int))
    return [cells[place] for place in places]


def _styles(cells: Cells) -> list[_Style]:
    """A tone for each N and a shape for each D."""
    sizes, tokens = sorted({n for n, _ in cells}), sorted({d for _, d in cells})
    return [_Style(TONES[sizes.index(n) % len(TONES)], SHAPES[tokens.index(d) % len(SHAPES)]) for n, d in cells]


def _cut(name: str) -> str:
    return shortened(visible(name), NAME_CELLS)
