"""`winnow curve`: how likely MinHash bands and rows find near duplicates, for presets or settings of your own."""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.filters.duplicates.presets import NearPreset
    from winnow.schemas.identity import Json


THRESHOLD = 0.75  # FineWeb: its 14 bands of 8 rows target texts that are at least 75 % alike
COMPARED: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
"""The similarities at which the table compares presets."""
STEPS: Final = 20
MAX_BANDS, MAX_ROWS = 10_000, 1_000  # the limits of a recipe
MAX_HASHES = 10_000
"""All bands of this many hashes are tried within two seconds; the largest published number is 9 000."""
TALL, WIDE = 8, 51
"""Lines and columns of the block plot: a column for each 0.02 of similarity."""
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:#"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("preset", nargs="?", metavar="PRESET", help="a preset for near duplicates (default: show all)")
    parser.add_argument("--bands", type=int, metavar="B", help="bands of your own curve; needs --rows")
    parser.add_argument("--rows", type=int, metavar="R", help="hashes per band")
    parser.add_argument("--hashes", type=int, metavar="N", help="find the best bands and rows for at most N hashes")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help=f"similarity from which texts count as duplicates (default: {THRESHOLD})",
    )
    parser.add_argument("--plot", metavar="FILE.svg", help="write a plot of the curve to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@dataclass(frozen=True, slots=True)
class Curve:
    """Bands and rows, the threshold to judge them by, and their origin."""

    bands: int
    rows: int
    threshold: float
    preset: "NearPreset | None" = None
    chosen_from: int | None = None  # the number of hashes that `best_bands` chose from

    @property
    def name(self) -> str:
        """The title of the curve."""
        size = f"{self.bands:,} bands of {self.rows:,} rows"
        return size if self.preset is None else f"{self.preset.name}: {size}"

    @property
    def recall(self) -> float:
        """The mean of P at or above the threshold."""
        from winnow.filters.duplicates.curves import expected_recall

        return expected_recall(self.bands, self.rows, self.threshold)

    @property
    def false_candidates(self) -> float:
        """The mean of P below the threshold."""
        from winnow.filters.duplicates.curves import false_candidates

        return false_candidates(self.bands, self.rows, self.threshold)

    def at(self, similarity: float) -> float:
        """P at a similarity."""
        from winnow.filters.duplicates.curves import probability

        return probability(similarity, self.bands, self.rows)


def run(options: argparse.Namespace) -> int:
    """Show one curve, or all presets."""
    from winnow.filters.duplicates.presets import near_presets
    from winnow.runners.report.plots.curve import curve_file
    from winnow.runners.terminal.tables import print_line

    console = open_console()
    threshold = THRESHOLD if options.threshold is None else options.threshold
    if not 0 < threshold <= 1:
        raise WinnowError(f"--threshold {threshold:g}: expected a similarity above 0 and at most 1")
    curve = _selected(options, threshold)
    if curve is None:
        if options.plot is not None:
            raise WinnowError("--plot draws one curve; give a preset, --bands and --rows, or --hashes")
        curves = [Curve(preset.bands, preset.rows, threshold, preset) for preset in near_presets()]
        if options.json:
            _write_json({"threshold": threshold, "curves": [_described(curve) for curve in curves]})
        else:
            _print_all(curves, console, judged=options.threshold is not None)
        return 0
    target = None if options.plot is None else _drawing(options.plot)
    if target is not None:
        drawing = curve_file(
            curve.name, curve.bands, curve.rows, threshold, percent(curve.recall), percent(curve.false_candidates)
        )
        target.write_bytes(drawing)
    if options.json:
        _write_json(_described(curve))
        return 0
    _print_one(curve, console)
    if target is not None:
        print_line(console, f"plot  {target}")
    return 0


def _selected(options: argparse.Namespace, threshold: float) -> Curve | None:
    """The curve that the options select; None for all presets."""
    from winnow.filters.duplicates.curves import best_bands
    from winnow.filters.duplicates.presets import near_preset

    own = options.bands is not None or options.rows is not None
    requested = [
        text
        for text, given in (
            (f"the preset {options.preset}", options.preset is not None),
            ("--bands and --rows", own),
            ("--hashes", options.hashes is not None),
        )
        if given
    ]
    if len(requested) > 1:
        raise WinnowError(f"{' and '.join(requested)} cannot be combined; give only one")
    if options.preset is not None:
        preset = near_preset(options.preset)
        return Curve(preset.bands, preset.rows, threshold, preset)
    if own:
        for missing, given in (("--bands", options.bands), ("--rows", options.rows)):
            if given is None:
                raise WinnowError(f"{missing} is missing; give both --bands and --rows, or --hashes to choose both")
        _require("--bands", options.bands, MAX_BANDS)
        _require("--rows", options.rows, MAX_ROWS)
        return Curve(options.bands, options.rows, threshold)
    if options.hashes is not None:
        _require("--hashes", options.hashes, MAX_HASHES)
        bands, rows = best_bands(options.hashes, threshold)
        return Curve(bands, rows, threshold, chosen_from=options.hashes)
    return None


def _require(option: str, given: int, most: int) -> None:
    if not 1 <= given <= most:
        raise WinnowError(f"{option} {given}: expected 1 to {most:,}")


def _drawing(name: str) -> Path:
    from winnow.runners.stages.lists.whole_file import require_writable

    target = Path(name)
    if target.suffix.lower() != ".svg":
        raise WinnowError(f"--plot {name}: only SVG is supported; give a file name that ends in .svg")
    require_writable("--plot", target)
    return target


def _print_all(curves: list[Curve], console: "Console", *, judged: bool) -> None:
    """Print one row per preset; with columns for the threshold only if one was given, to fit 80 columns."""
    from winnow.filters.duplicates.curves import half_point
    from winnow.runners.tables.table import Column, table
    from winnow.runners.tables.units import COUNT, REASON
    from winnow.runners.terminal.tables import print_line, print_tables

    def at(alike: float) -> Column[Curve]:
        return Column(f".{round(alike * 100):02}".removesuffix("0"), COUNT, lambda one: short(one.at(alike)))

    threshold = curves[0].threshold
    columns: list[Column[Curve]] = [
        Column("preset", REASON, lambda one: "" if one.preset is None else one.preset.name),
        Column("bands", COUNT, lambda one: f"{one.bands}x{one.rows}"),
        Column("hashes", COUNT, lambda one: one.bands * one.rows),
        Column("half", COUNT, lambda one: short(half_point(one.bands, one.rows))),
        *map(at, COMPARED),
    ]
    if judged:
        columns.append(Column(f"recall >= {threshold:g}", COUNT, lambda one: percent(one.recall)))
        columns.append(Column(f"false < {threshold:g}", COUNT, lambda one: percent(one.false_candidates)))
    print_tables(console, table("Probability that two texts are compared, by similarity", columns, curves))
    print_line(console, "half: the similarity at which half of all pairs are compared; ~0: < .0005, ~1: > .9995")
    print_line(console, "Details: winnow curve PRESET, or with --bands B --rows R, or with --hashes N --threshold T")


def _print_one(curve: Curve, console: "Console") -> None:
    from winnow.filters.duplicates.curves import half_point
    from winnow.runners.tables.quantities import grouped
    from winnow.runners.tables.table import Table, each, heads
    from winnow.runners.tables.units import COUNT
    from winnow.runners.terminal.tables import is_plain, print_line, print_tables

    print_line(console, curve.name, "bold")
    print_line(console, f"  hashes      {grouped(curve.bands * curve.rows)}")
    if curve.chosen_from is not None:
        unused = curve.chosen_from - curve.bands * curve.rows
        left = f"; {grouped(unused)} unused" if unused else ""
        most = f"at most {grouped(curve.chosen_from)} hashes and a threshold of {curve.threshold:g}"
        print_line(console, f"  chosen      the smallest error for {most}{left}")
    if (preset := curve.preset) is not None:
        print_line(console, f"  shingles    {_shingles(preset)}, seed {preset.seed}")
        print_line(console, f"  note        {preset.note}")
    print_line(console, f"  half point  {half_point(curve.bands, curve.rows):.3f}  half of all pairs are compared")
    mean = f"mean over similarities from {curve.threshold:g} to 1"
    print_line(console, f"  recall      {percent(curve.recall)}  {mean}")
    mean = f"mean from 0 to {curve.threshold:g}: compared needlessly, rejected by verification"
    print_line(console, f"  false       {percent(curve.false_candidates)}  {mean}")
    print_line(console, "")
    for line in block_plot(curve.bands, curve.rows, curve.threshold, ascii_only=is_plain(console)):
        print_line(console, line)
    print_line(console, "")
    rows = [(f"{step / STEPS:.2f}", exact(curve.at(step / STEPS))) for step in range(1, STEPS)]
    rows.append(("1.00", "1"))
    columns = heads(*each(COUNT, "similarity", "P"))
    print_tables(console, Table("P: probability of comparison, by similarity", columns, rows))


def block_plot(bands: int, rows: int, threshold: float, *, ascii_only: bool) -> list[str]:
    """The lines of a plot of P over similarity, with a mark under the threshold."""
    import numpy as np

    from winnow.filters.duplicates.curves import probabilities

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


def _shingles(preset: "NearPreset") -> str:
    return f"{preset.size} {preset.shingle}" if preset.size > 1 else f"single {preset.shingle}"


def _described(curve: Curve) -> "dict[str, Json]":
    from winnow.filters.duplicates.curves import half_point

    described: dict[str, Json] = {}
    if (preset := curve.preset) is not None:
        described |= {"preset": preset.name, "shingle": preset.shingle, "size": preset.size, "seed": preset.seed}
        described["note"] = preset.note
    return described | {
        "bands": curve.bands,
        "rows": curve.rows,
        "hashes": curve.bands * curve.rows,
        "half_point": half_point(curve.bands, curve.rows),
        "threshold": curve.threshold,
        "expected_recall": curve.recall,
        "false_candidates": curve.false_candidates,
        "probability": {f"{step / STEPS:.2f}": curve.at(step / STEPS) for step in range(1, STEPS + 1)},
    }


def _write_json(value: "Json") -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def short(share: float) -> str:
    """`.053`, in four characters; `~0` and `~1` where three digits would round to 0 or 1."""
    return "~0" if share < 0.0005 else "~1" if share >= 0.9995 else f"{share:.3f}"[1:]


def exact(share: float) -> str:
    """`0.0531`; never rounds to 0 or 1."""
    return f"{share:.1e}" if share < 0.00005 else "> 0.9999" if share >= 0.99995 else f"{share:.4f}"


def percent(share: float) -> str:
    """`93.5 %`; never rounds to 0 or 100 %."""
    return "< 0.1 %" if share < 0.0005 else "> 99.9 %" if share >= 0.9995 else f"{100 * share:.1f} %"


COMMAND = Command("show how likely near duplicates are found, by similarity, bands and rows", arguments, run, place=1)
