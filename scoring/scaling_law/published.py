"""Public numbers of *Scaling Laws for Multilingual Language Models* (arXiv 2410.12883), and their implications.

The paper's tables of parameters and ratios are not public; these numbers are from its abstract and its public reviews
(OpenReview T2h2V7Rx7q), which quote tables 4 and 6. What follows from them is computed by the code that users call;
`NOT_RECOMPUTED` lists what cannot be computed, with the reason.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.scaling_law.ratios import objective, optimal_shares

Floats = NDArray[np.float64]

FAMILIES: Final = ("Germanic", "Indic", "Romance", "Sino-Tibetan", "Slavic")
"""Sino-Tibetan is only Chinese. There are 23 languages, of which the reviews name seven."""

UNIFORM_SHARE: Final = 0.2

TABLE_6_NORMALISED: Final = (1.142, 1.180, 1.273, 1.142, 1.134)
"""Losses over the loss at p = 1, at N = 1.2e9 and equal shares. The families of the cells are not published."""

TABLE_6_TOTAL: Final = 5.946
TABLE_4_UNIFORM: Final = 5.912
TABLE_4_OPTIMISED: Final = 5.895
"""Totals of normalised losses at N = 85e6."""


@dataclass(frozen=True, slots=True)
class DerivedNumber:
    """A number that follows from published ones by the law."""

    what: str
    value: float


def gammas_of_table_6() -> Floats:
    """The exponents under which the law gives table 6: a normalised loss is p^-gamma."""
    found: Floats = -np.log(np.array(TABLE_6_NORMALISED)) / np.log(UNIFORM_SHARE)
    return found


def mean_gamma_of_table_4() -> float:
    """The one exponent under which equal shares give table 4's total."""
    return float(-np.log(TABLE_4_UNIFORM / len(FAMILIES)) / np.log(UNIFORM_SHARE))


def derived() -> tuple[DerivedNumber, ...]:
    """Numbers that the law derives from the published ones; none is printed in the paper."""
    gammas = gammas_of_table_6()
    ones = np.ones(len(gammas))
    shares = optimal_shares(ones, gammas)
    uniform = float(objective(ones, gammas, np.full(len(gammas), UNIFORM_SHARE)))
    best = float(objective(ones, gammas, shares))
    found = [DerivedNumber(f"gamma of cell {place + 1} of table 6", float(gamma)) for place, gamma in enumerate(gammas)]
    found += [DerivedNumber(f"optimal share of cell {place + 1}", float(share)) for place, share in enumerate(shares)]
    found += [
        DerivedNumber("table 6: sum of the five cells", uniform),
        DerivedNumber("table 6: printed total less the sum of its cells", TABLE_6_TOTAL - sum(TABLE_6_NORMALISED)),
        DerivedNumber("table 6: total at the optimum", best),
        DerivedNumber("table 6: gain of the optimum over equal shares", uniform - best),
        DerivedNumber("table 4: gain of optimised over equal shares", TABLE_4_UNIFORM - TABLE_4_OPTIMISED),
        DerivedNumber("table 4: gamma that all families would share", mean_gamma_of_table_4()),
    ]
    return tuple(found)


NOT_RECOMPUTED: Final = (
    ("E, A, alpha, B, beta and gamma of each family", "the fitted parameters are not public"),
    (
        "table 5: optimal ratios at 85M and 1.2B",
        "not public; the reviews say that three families' ratios differ between sizes",
    ),
    ("table 6: printed total 5.946", "its five cells sum to 5.871, so a cell or the total is misprinted"),
    ("table 4: optimised total 5.895", "needs the five exponents at 85M, of which only the uniform total is public"),
    ("the family of each cell of table 6", "the order is not public"),
    ("R2 and errors of the fit", "not public"),
)
"""What cannot be computed from public numbers, and why."""
