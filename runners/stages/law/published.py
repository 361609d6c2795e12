"""`winnow law published`: recomputes what follows from the paper's public numbers, and lists what cannot be
recomputed."""

import argparse
import itertools
import json
import sys
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from rich.console import Console

from winnow.runners.tables.table import Column, table
from winnow.runners.tables.units import REASON, Unit
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.scoring.scaling_law import published
from winnow.scoring.scaling_law.ratios import objective, optimal_shares

HALF_A_DIGIT: Final = 0.0005
_DIGITS4: Final = Unit(lambda one: f"{one:.4f}")
"""The printed losses have three decimals."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A recomputed number, its range given the precision of its inputs, and the printed number."""

    what: str
    value: float
    low: float
    high: float
    printed: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the printed number agrees."""
        if self.printed is None:
            return ""
        if self.low - HALF_A_DIGIT <= self.printed <= self.high + HALF_A_DIGIT:
            return "agrees"
        return f"differs by {abs(self.printed - self.value):.3f}"


COLUMNS: Final[tuple[Column[Recomputed], ...]] = (
    Column("recomputed by the law", REASON, lambda one: one.what),
    Column("value", _DIGITS4, lambda one: one.value),
    Column("at least", _DIGITS4, lambda one: one.low),
    Column("at most", _DIGITS4, lambda one: one.high),
    Column("printed", Unit(lambda one: f"{one:.3f}", absent="-"), lambda one: one.printed),
    Column("", REASON, lambda one: one.verdict),
)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print what was recomputed, and what could not be."""
    found = recomputed()
    if options.json:
        numbers = [{**asdict(row), "verdict": row.verdict} for row in found]
        missing = [{"what": what, "why": why} for what, why in published.NOT_RECOMPUTED]
        sys.stdout.write(json.dumps({"recomputed": numbers, "not_recomputed": missing}) + "\n")
        return 0
    print_line(console, "Scaling Laws for Multilingual Language Models (arXiv 2410.12883)", "bold")
    print_line(console, "  its public numbers are those quoted in its abstract and reviews (tables 4 and 6)")
    print_line(console, "")
    title = "Minimum and maximum: the range allowed by rounding of the printed digits"
    print_tables(console, table(title, COLUMNS, found))
    print_line(console, "Cannot be recomputed", "bold")
    for what, why in published.NOT_RECOMPUTED:
        print_line(console, f"  {what}: {why}")
    return 0


def recomputed() -> tuple[Recomputed, ...]:
    """Compute what follows from the printed numbers, over the range that rounding allows."""
    printed = np.array(published.TABLE_6_NORMALISED)
    corners = printed + HALF_A_DIGIT * np.array(list(itertools.product((-1.0, 1.0), repeat=len(printed))))
    gammas = -np.log(corners) / np.log(published.UNIFORM_SHARE)
    ones = np.ones_like(gammas)
    shares = optimal_shares(ones, gammas)
    best = objective(ones, gammas, shares)
    totals = corners.sum(axis=1)
    ends = {
        **{f"gamma of cell {place + 1} of table 6": gammas[:, place] for place in range(len(printed))},
        **{f"optimal share of cell {place + 1}": shares[:, place] for place in range(len(printed))},
        "table 6: sum of the five cells": totals,
        "table 6: total at the optimum": best,
        "table 6: gain of the optimum over equal shares": totals - best,
    }
    compared = {"table 6: sum of the five cells": published.TABLE_6_TOTAL}
    return tuple(
        Recomputed(of.what, of.value, float(ends[of.what].min()), float(ends[of.what].max()), compared.get(of.what))
        if of.what in ends
        else _of_table_4(of)
        for of in published.derived()
        if not of.what.startswith("table 6: printed")  # covered by the verdict on the sum
    )


def _of_table_4(of: published.DerivedNumber) -> Recomputed:
    if "gamma" not in of.what:
        return Recomputed(of.what, of.value, of.value - 2 * HALF_A_DIGIT, of.value + 2 * HALF_A_DIGIT)
    ends = (published.TABLE_4_UNIFORM + HALF_A_DIGIT * np.array([-1.0, 1.0])) / len(published.FAMILIES)
    low, high = (-np.log(ends) / np.log(published.UNIFORM_SHARE)).tolist()
    return Recomputed(of.what, of.value, low, high)
