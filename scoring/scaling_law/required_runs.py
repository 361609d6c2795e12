"""Check that a table determines all parameters of a law, or name the missing runs."""

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import SourceError
from winnow.schemas.law import Mode
from winnow.schemas.problems import nearest
from winnow.scoring.scaling_law.models import cells_of
from winnow.scoring.scaling_law.runs import Floats, RunTable

MOST_CELLS = 200  # pairs of N and D, each a parameter of the first stage
LEAST_SIZES = 3  # values of N, and of D; fewer cannot separate floor, scale and exponent


def require_determined(table: RunTable, mode: Mode, min_seeds: int = 1) -> None:
    """Require a table that determines every parameter.

    Raises:
        SourceError: One sentence per family and problem: what exists, and which runs to add.
    """
    lacks = []
    for family in table.families:
        rows = table.of(family)
        near = nearest(family, [other for other in table.families if other != family]) if len(rows) == 1 else None
        hint = "" if near is None else f"; it has one row: did you mean {near!r}?"
        lacks += [lack + hint for lack in missing_runs(rows, mode, min_seeds)]
    if lacks:
        raise SourceError("\n".join(f"{table.name}: {lack}" for lack in lacks[:20]))


def noise_unknown(table: RunTable) -> str:
    """The warning about families whose runs have one seed; empty if there are none."""
    single = [family for family in table.families if len(np.unique(table.of(family).seed)) == 1]
    if not single:
        return ""
    named = "every family" if len(single) == len(table.families) > 1 else ", ".join(single[:6])
    return (
        f"{named}: all runs have one seed, so the noise of training cannot be told from an error of the law; the "
        "intervals rest on the residuals alone; add runs with another seed"
    )


def missing_runs(rows: RunTable, mode: Mode, min_seeds: int = 1) -> list[str]:
    """The problems with one family's rows; empty if there are none."""
    family = rows.families[int(rows.family[0])]
    found = []
    cells, place = cells_of(rows)
    if len(cells) > MOST_CELLS:
        return [f"{family}: {len(cells)} pairs of N and D; a law is fitted to at most {MOST_CELLS}; leave some out"]
    shares_in = [np.unique(rows.p[place == number]) for number in range(len(cells))]
    if max(map(len, shares_in)) < 2:
        found.append(
            f"{family}: gamma needs two values of p at the same N and D, there is {_values('p', rows.p)}; "
            f"add runs with another p at N {cells[0][0]:g}, D {cells[0][1]:g}"
        )
    if len(np.unique(rows.seed)) < min_seeds:
        found.append(
            f"{family}: {_values('seed', rows.seed)}, and --min-seeds {min_seeds} are required; add runs with another "
            "seed, or require fewer"
        )
    if mode == "full":
        found += _missing_sizes(rows, family, cells)
    need = 7 if mode == "full" else len(cells) + 2
    if len(rows) < need and not found:
        found.append(f"{family}: {len(rows)} runs, at least {need} are needed; add seeds or shares")
    return found


def _missing_sizes(rows: RunTable, family: str, cells: tuple[tuple[float, float], ...]) -> list[str]:
    found = []
    for name, values in (("N", rows.n), ("D", rows.d)):
        have = len(np.unique(values))
        if have < LEAST_SIZES:
            found.append(
                f"{family}: the full law needs {LEAST_SIZES} values of {name}, there is {_values(name, values)}; add "
                f"runs at {LEAST_SIZES - have} more, or fit gamma alone (--mode gamma)"
            )
    if not found:
        for name, other, place in (("N", "D", 1), ("D", "N", 0)):
            held = [cell[place] for cell in cells]
            if len(set(held)) == len(held):
                found.append(
                    f"{family}: no two runs share {other} and differ in {name}, so their effects cannot be told apart; "
                    f"add runs at {other} {held[0]:g} with another {name}"
                )
        if not found and len(cells) < 5:
            found.append(f"{family}: {len(cells)} pairs of N and D for 5 unknowns; add runs at other pairs")
    return found


def _values(name: str, values: Floats | NDArray[np.int64]) -> str:
    known = np.unique(values)
    return f"only {name} {', '.join(f'{value:g}' for value in known[:6])}{', …' if len(known) > 6 else ''}"
