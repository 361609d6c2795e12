"""Tables of a law: parameters, quality, fitted ranges."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console

from winnow.runners.tables.table import Column, Table, Value, each, heads, table
from winnow.runners.tables.units import COUNT, NAME, Unit
from winnow.runners.terminal.tables import print_line
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.law import Estimate, FamilyLaw, ScalingLaw, law_to_json

PARAMETERS: Final = ("gamma", "E", "A", "alpha", "B", "beta")


def number4(value: float | None) -> str:
    """Format with four digits; `-` for None."""
    return "-" if value is None else f"{value:.4g}"


def number6(value: float) -> str:
    """Format with six digits, as differences of totals are small."""
    return f"{value:.6g}"


def share_text(value: float) -> str:
    """Format a share with four decimals, or more if it is small."""
    return f"{value:.4f}" if value >= 0.0005 else f"{value:.2g}"


NUMBER4: Final = Unit(number4, absent="-")
SHARE4: Final = Unit(share_text, absent="-")


def confidence(law: ScalingLaw) -> str:
    """`95 %`."""
    return f"{100 * law.provenance.confidence:g} %"


def estimates(family: FamilyLaw) -> list[tuple[str, Estimate]]:
    """The parameters of a family's law by name; for a `gamma` law, gamma and the loss in each cell."""
    if family.bracket is None:
        cells = [(f"loss at N {cell.n:g} D {cell.d:g}", cell.scale) for cell in family.cells]
        return [("gamma", family.gamma), *cells]
    of = family.bracket
    return list(zip(PARAMETERS, (family.gamma, of.e, of.a, of.alpha, of.b, of.beta), strict=True))


def parameters(law: ScalingLaw, two_stage: dict[str, Sequence[float]] | None = None) -> Table:
    """The table of parameters with their intervals. `two_stage`: each family's two-stage estimates, as ordered in
    `estimates`."""
    rows: list[tuple[Value, ...]] = []
    for family in law.families:
        for place, (name, of) in enumerate(estimates(family)):
            other = None if two_stage is None else two_stage[family.family][place]
            rows.append((family.family if place == 0 else "", name, of.value, of.low, of.high, other))
    numbers = each(NUMBER4, "value", f"{confidence(law)} from", "to", "two-stage")
    found = Table("Parameters", heads("family", "parameter", *numbers), rows)
    return found if two_stage is not None else found.without("two-stage")


QUALITY: Final[tuple[Column[FamilyLaw], ...]] = (
    Column("family", NAME, lambda one: one.family),
    Column("runs", COUNT, lambda one: one.fitted.runs),
    Column("seeds", COUNT, lambda one: one.fitted.seeds),
    Column("R2", COUNT, lambda one: _r2(one.quality.r2)),
    Column("MAE", NUMBER4, lambda one: one.quality.mae),
    Column("held out", NUMBER4, lambda one: one.quality.held_out_mae),
    Column("largest N", NUMBER4, lambda one: one.quality.largest_n_mae),
    Column("largest D", NUMBER4, lambda one: one.quality.largest_d_mae),
    Column("seed spread", NUMBER4, lambda one: one.quality.seed_spread),
)


def quality(law: ScalingLaw) -> Table:
    """The table of prediction errors, in the unit of loss."""
    return table("Errors of the loss (mean absolute)", QUALITY, law.families)


def ranges(law: ScalingLaw) -> Table:
    """The table of fitted ranges, beyond which the law extrapolates."""
    rows = [(family.family, *(_between(low, high) for low, high in _ends(family))) for family in law.families]
    return Table("Fitted range", heads("family", *each(COUNT, "N", "D", "p")), rows)


def _ends(family: FamilyLaw) -> tuple[tuple[float, float], ...]:
    fitted = family.fitted
    return (fitted.n_min, fitted.n_max), (fitted.d_min, fitted.d_max), (fitted.p_min, fitted.p_max)


def _between(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _r2(value: float) -> str:
    """Format R2 so that only 1 reads as 1: 0.99996 stays 0.99996."""
    digits = 4
    while digits < 8 and value < 1 and f"{value:.{digits}f}".startswith("1"):
        digits += 1
    return f"{value:.{digits}f}"


def without_draws(law: ScalingLaw) -> Json:
    """The law as in its file, without the bootstrap draws."""
    families = tuple(replace(family, draws=()) for family in law.families)
    described = json.loads(law_to_json(replace(law, families=families)))
    for family in described["families"]:
        del family["draws"]
    found: Json = described
    return found


def require_numbers(where: str, numbers: Iterable[float]) -> None:
    """Raise if a number is not finite."""
    if not all(map(math.isfinite, numbers)):
        raise WinnowError(f"{where}: the losses overflow; choose values closer to the fitted ones")


def print_units(law: ScalingLaw, console: Console) -> None:
    """Print the units of N, D and loss."""
    for name, unit in (("N", law.units.n), ("D", law.units.d), ("loss", law.units.loss)):
        print_line(console, f"  {name:<6}{unit}")


def print_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Print one line per warning."""
    for text in warnings:
        print_line(console, f"warning: {text}", "yellow")
