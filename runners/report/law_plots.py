"""The pictures of `winnow law`: losses with the law through them, and shares with their intervals.

Equal inputs give equal bytes of SVG. Text stays text, and no name of a family is read as a formula.
"""

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from winnow.runners.law.files import Picture
from winnow.runners.law.views import confidence
from winnow.runners.report.style import STYLE
from winnow.runners.terminal.escaping import visible
from winnow.schemas.law import FamilyLaw, ScalingLaw
from winnow.scoring.scaling_law.mixing import Ratios
from winnow.scoring.scaling_law.models import cells_of
from winnow.scoring.scaling_law.predicting import drawn_exponents, drawn_scales, exponents, scales
from winnow.scoring.scaling_law.runs import RunTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TONES: Final = tuple(re.findall(r"--tone-\d: (#[0-9a-f]{6});", STYLE)[:8])
"""Those of the report, on light screens (Okabe and Ito 2008)."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_PANELS: Final = 12
MOST_CELLS: Final = 9
MOST_BARS: Final = 40
SHARES: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_CURVE: Final = 24
_NAME: Final = 40

Cells = Sequence[tuple[float, float]]


def fit_plot(law: ScalingLaw, table: RunTable, kind: Picture) -> bytes:
    """Loss against p for each family on logarithmic axes: every run, the law, and the band of its draws."""
    families = law.families[:MOST_PANELS]
    across = min(3, len(families))
    down = math.ceil(len(families) / across)
    with _style():
        figure = Figure(figsize=(4.3 * across, 3.6 * down + 1.2), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        cells = _some(cells_of(table)[0])
        for panel, family in zip(panels, families, strict=False):
            _panel(panel, law, family, table.of(family.family), cells)
        for panel in panels[len(families) :]:
            panel.set_axis_off()
        left_out = len(law.families) - len(families)
        said = [f"bands: {confidence(law)} of the bootstrap's draws"]
        if len(cells) < len(cells_of(table)[0]):
            said.append(f"{len(cells)} of {len(cells_of(table)[0])} pairs of N and D")
        if left_out:
            said.append(f"{left_out} more families not shown")
        handles = [panels[0].plot([], [], color=tone, marker=marker, ls="-", ms=5)[0] for tone, marker in _looks(cells)]
        names = [f"N {n:.3g}, D {d:.3g}" for n, d in cells]
        figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(cells)), title="; ".join(said))
        figure.suptitle(f"Loss against the family's share ({_cut(law.units.loss)})")
        return _bytes(figure, kind)


def ratios_plot(law: ScalingLaw, weightings: Sequence[tuple[str, Ratios]], kind: Picture) -> bytes:
    """Shares with their intervals: a line a family, the largest first, a mark for each weighting."""
    first = weightings[0][1]
    order = sorted(range(len(first.families)), key=lambda place: (-first.shares[place], first.families[place]))
    order = order[:MOST_BARS]
    with _style():
        figure = Figure(figsize=(8.0, 1.8 + 0.42 * len(order)), layout="constrained")
        axes = figure.subplots()
        rows = np.arange(len(order), dtype=np.float64)
        for number, (name, ratios) in enumerate(weightings):
            shares, low, high = (np.array(column)[order] for column in (ratios.shares, ratios.low, ratios.high))
            apart = 0.2 * (number - (len(weightings) - 1) / 2)
            # An estimate may lie just outside its percentile interval; a bar of negative length cannot be drawn.
            bars = np.maximum([shares - low, high - shares], 0.0)
            axes.errorbar(
                shares,
                rows + apart,
                xerr=bars,
                fmt=MARKERS[number],
                color=TONES[(0, 4, 2)[number % 3]],
                ms=4.5,
                lw=1.6,
                capsize=3.5,
                label=_cut(name),
            )
        equal = sum(first.shares) / len(first.shares)
        axes.axvline(equal, color="#5b6573", ls=":", lw=1, label="equal shares")
        axes.set_yticks(rows, [_cut(first.families[place]) for place in order])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel(f"share of all tokens, with {confidence(law)} intervals")
        axes.grid(axis="x", color="#dfe3e9", lw=0.8)
        left_out = len(first.families) - len(order)
        axes.set_title(f"Shares of least loss{f'; {left_out} smaller ones not shown' if left_out else ''}")
        figure.legend(loc="outside lower center", ncols=2)
        return _bytes(figure, kind)


def _panel(axes: "Axes", law: ScalingLaw, family: FamilyLaw, rows: RunTable, cells: Cells) -> None:
    alone = replace(law, families=(family,))
    p = np.geomspace(family.fitted.p_min, family.fitted.p_max, _CURVE)
    gamma, drawn = float(exponents(alone)[0]), drawn_exponents(alone)
    tail = (1 - law.provenance.confidence) / 2
    for (n, d), (tone, marker) in zip(cells, _looks(cells), strict=True):
        here = (rows.n == n) & (rows.d == d)
        if not here.any():
            continue
        if len(drawn):
            curves = drawn_scales(alone, n, d) * p**-drawn
            low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
            axes.fill_between(p, low, high, color=tone, alpha=0.25, lw=0)
        axes.plot(p, scales(alone, n, d)[0] * p**-gamma, color=tone, lw=1.4)
        axes.plot(rows.p[here], rows.loss[here], ls="", marker=marker, color=tone, ms=5, mec="white", mew=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(family.fitted.p_min / 1.12, family.fitted.p_max * 1.12)
    _ticks(axes, rows)
    axes.set_title(f"{_cut(family.family)}: gamma {family.gamma.value:.4f}")
    axes.set_xlabel("p")
    axes.set_ylabel("loss")
    axes.grid(color="#dfe3e9", lw=0.8)


def _ticks(axes: "Axes", rows: RunTable) -> None:
    """Plain numbers: the formatter of logarithmic axes writes formulae."""
    plain = FuncFormatter(lambda value, _: f"{value:.3g}")
    low, high = float(rows.loss.min()), float(rows.loss.max())
    losses = np.geomspace(low, high, 5) if high > low else np.array([low])
    shares = [share for share in SHARES if rows.p.min() / 1.1 <= share <= rows.p.max() * 1.1]
    for axis, places in ((axes.xaxis, shares or [float(rows.p.min())]), (axes.yaxis, losses.tolist())):
        axis.set_major_locator(FixedLocator(places))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(plain)


def _some(cells: Cells) -> Cells:
    """At most `MOST_CELLS`, from the first to the last."""
    if len(cells) <= MOST_CELLS:
        return cells
    places = np.unique(np.rint(np.linspace(0, len(cells) - 1, MOST_CELLS)).astype(int))
    return [cells[place] for place in places]


def _looks(cells: Cells) -> list[tuple[str, str]]:
    """A tone for each N and a marker for each D."""
    sizes, tokens = sorted({n for n, _ in cells}), sorted({d for _, d in cells})
    return [(TONES[sizes.index(n) % len(TONES)], MARKERS[tokens.index(d) % len(MARKERS)]) for n, d in cells]


def _cut(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _NAME else f"{shown[: _NAME - 1]}…"


@contextmanager
def _style() -> Iterator[None]:
    """Matplotlib's own defaults, whatever a user's settings say, and ours."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that a font lacks, a legend without room: the picture shows it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": "winnow",
                "svg.fonttype": "none",
                "text.parse_math": False,
                "font.family": "DejaVu Sans",
                "font.size": 9.5,
                "axes.titlesize": 10.5,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.edgecolor": "#5b6573",
                "axes.axisbelow": True,
                "legend.frameon": False,
                "figure.facecolor": "white",
            }
        )
        yield


def _bytes(figure: Figure, kind: Picture) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return stream.getvalue()
