"""The family scaling law of *Scaling Laws for Multilingual Language Models* (arXiv 2410.12883): fit, test, predict.

Names are loaded on first use: ratios need no SciPy, fits do.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.scoring.scaling_law.fitting import FitConfig, LawFit, fit_law
    from winnow.scoring.scaling_law.law_of_fit import law_of
    from winnow.scoring.scaling_law.mixing import RatioObjective, Ratios, Sensitivity, family_ratios, sensitivity
    from winnow.scoring.scaling_law.runs import RunTable, runs_from_columns, runs_from_csv

__all__ = [
    "FitConfig",
    "LawFit",
    "RatioObjective",
    "Ratios",
    "RunTable",
    "Sensitivity",
    "family_ratios",
    "fit_law",
    "law_of",
    "runs_from_columns",
    "runs_from_csv",
    "sensitivity",
]

_MODULES = {
    "fitting": ("FitConfig", "LawFit", "fit_law"),
    "law_of_fit": ("law_of",),
    "mixing": ("RatioObjective", "Ratios", "Sensitivity", "family_ratios", "sensitivity"),
    "runs": ("RunTable", "runs_from_columns", "runs_from_csv"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            found: object = getattr(import_module(f"{__name__}.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
