"""`winnow law fit`: fits a law to tables of training runs, with its quality and tests of its assumptions.

A test without a finding does not prove an assumption; so each line also says how large an effect noise alone reaches
in one table of twenty.
"""

import argparse
import itertools
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from winnow.pipelines.mix.laws import STDIN
from winnow.runners.stages.law.files import output_path, plot_path, require_distinct, require_extra, write_files
from winnow.runners.stages.law.run_tables import read_runs
from winnow.runners.stages.law.views import (
    number4,
    parameters,
    print_units,
    print_warnings,
    quality,
    ranges,
    without_draws,
)
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.law import ScalingLaw, law_to_json
from winnow.scoring.scaling_law.hypotheses import Independence, Invariance

if TYPE_CHECKING:
    from winnow.scoring.scaling_law.fitting import LawFit

LEVEL: Final = 0.05
"""The significance level, for p values adjusted for the number of families."""

MOST_SEED: Final = 2**53
"""Integers below this limit are exact in every JSON parser."""
MOST_WORK: Final = 20_000_000
"""The limit on losses times resamples: some minutes on two cores, and some hundred MB."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Fit the law, test its assumptions, write and print the results."""
    require_extra("winnow law fit", "scipy")
    if options.min_seeds < 1:
        raise WinnowError(f"--min-seeds {options.min_seeds}: expected 1 or more")
    if not 20 <= options.resamples <= 100_000:
        raise WinnowError(f"--resamples {options.resamples}: expected 20 to 100000")
    if abs(options.seed) >= MOST_SEED:
        raise WinnowError(f"--seed {str(options.seed)[:30]}: expected a whole number below {MOST_SEED}")
    output, plot = output_path("--output", options.output), plot_path("--plot", options.plot)
    inputs = [(name, Path(name)) for name in options.runs if name != STDIN]
    if options.runs.count(STDIN) > 1 or len({file.resolve() for _, file in inputs}) < len(inputs):
        raise WinnowError("a table is named twice; name each once")
    require_distinct(*inputs, ("--output", output), ("--plot", plot))
    table = read_runs(options.runs)
    if len(table) * options.resamples > MOST_WORK:
        raise WinnowError(
            f"--resamples {options.resamples}: too many for {grouped(len(table))} losses; at most "
            f"{MOST_WORK // len(table)} here (losses times resamples are limited to {grouped(MOST_WORK)})"
        )

    # here, as SciPy takes a second to import, which errors in a table should not wait for
    from winnow.runners.stages.law.fitting import fit_families
    from winnow.scoring.scaling_law.fitting import FitConfig
    from winnow.scoring.scaling_law.hypotheses import independence_tests, invariance_tests
    from winnow.scoring.scaling_law.law_of_fit import law_of

    config = FitConfig(
        mode=options.mode,
        method=options.method.replace("-", "_"),
        resamples=options.resamples,
        seed=options.seed,
        min_seeds=options.min_seeds,
    )
    fit = fit_families(table, config, _progress(len(table.families)))
    others = independence_tests(table, options.seed)
    sizes = invariance_tests(table, config.confidence, options.seed)
    law = law_of(fit, _environment(), contradictions(others, sizes))
    drawn: bytes | None = None
    if plot is not None:
        from winnow.runners.stages.law.plots import fit_plot

        drawn = fit_plot(law, table)
    written = [] if output is None else [(output, law_to_json(law))]
    if plot is not None and drawn is not None:
        written.append((plot, drawn))
    write_files(written)
    if options.json:
        sys.stdout.write(json.dumps(_described(fit, law, others, sizes), ensure_ascii=False) + "\n")
        return 0
    _print(fit, law, others, sizes, console)
    for what, file in (("law", output), ("plot", plot)):
        if file is not None:
            print_line(console, f"{what:<5} {file}")
    return 0


def two_stage(fit: "LawFit") -> dict[str, Sequence[float]]:
    """Each family's two-stage estimates, in the order of the displayed parameters."""
    import numpy as np

    found: dict[str, Sequence[float]] = {}
    for family in fit.families:
        of = family.two_stage
        if family.cells:
            found[family.family] = [float(of[0]), *np.exp(of[1:]).tolist()]
        else:
            e, a, alpha, b, beta, gamma = (float(value) for value in of)
            found[family.family] = [gamma, float(np.exp(e)), float(np.exp(a)), alpha, float(np.exp(b)), beta]
    return found


def _print(
    fit: "LawFit",
    law: ScalingLaw,
    others: Sequence[Independence],
    sizes: Sequence[Invariance],
    console: Console,
) -> None:
    of = law.provenance
    count = len(law.families)
    families = f"{count} {'family' if count == 1 else 'families'}"
    print_line(console, f"{of.source}: {grouped(of.rows)} losses of {families}", "bold")
    way = {"joint": "all parameters at once", "two_stage": "gamma first, then the bracket"}[of.method]
    what = "gamma alone" if law.mode == "gamma" else way
    print_line(console, f"  fitted {what}; {grouped(of.resamples)} resamples")
    print_units(law, console)
    print_line(console, "")
    print_tables(console, parameters(law, two_stage(fit) if law.mode == "full" else None), quality(law), ranges(law))
    independence(others, console)
    invariance(sizes, console)
    print_warnings(console, (*fit.table.notes, *fit.warnings))


def _described(
    fit: "LawFit", law: ScalingLaw, others: Sequence[Independence], sizes: Sequence[Invariance]
) -> dict[str, Json]:
    return {
        "law": without_draws(law),
        "two_stage": {name: list(values) for name, values in two_stage(fit).items()},
        "independence": [asdict(answer) for answer in others],
        "invariance": [asdict(answer) for answer in sizes],
        "warnings": [*fit.table.notes, *fit.warnings],
    }


def _environment() -> str:
    parts = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return f"winnow {winnow_version()}, {parts}, Python {platform.python_version()}, {platform.machine()}"


def _progress(of: int) -> Callable[[str], None]:
    """A callback that shows finished families on a terminal."""
    done = itertools.count(1)

    def fitted(family: str) -> None:
        if sys.stderr.isatty():
            print(f"fitted {visible(family)}, {next(done)} of {of}", file=sys.stderr)

    return fitted


def independence(answers: Sequence[Independence], console: Console) -> None:
    """Print whether the shares of other families affect a family's loss."""
    print_line(
        console, "Does a family's loss depend on the other families' shares? The law assumes it does not.", "bold"
    )
    _print_tests([(answer.family, _independence(answer), answer.why_not) for answer in answers], console)


def invariance(answers: Sequence[Invariance], console: Console) -> None:
    """Print whether gamma changes with the model size or the number of tokens."""
    print_line(console, "Is gamma the same at every N and D? The law assumes it is.", "bold")
    _print_tests([(answer.family, _invariance(answer), answer.why_not) for answer in answers], console)


def contradictions(others: Sequence[Independence], sizes: Sequence[Invariance]) -> str:
    """The assumptions that the runs contradict, for the law file; empty if there are none."""
    found = []
    for what, answers in (
        ("independence of the other families' shares", others),
        ("one gamma at every N and D", sizes),
    ):
        named = [answer.family for answer in answers if _contradicted(answer.adjusted)]
        if named:
            found.append(f"the runs contradict {what} for {', '.join(named)}")
    return "; ".join(found)


def _print_tests(rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    """Print one line per family, or a single line if no family could be tested for the same reason."""
    reasons = {why for _, _, why in rows}
    if len(reasons) == 1 and "" not in reasons:
        print_line(console, f"  not tested: {reasons.pop()}")
    else:
        width = max(len(family) for family, _, _ in rows)
        for family, text, why in rows:
            print_line(console, f"  {family:<{width}}  {f'not tested: {why}' if why else text}")
    print_line(console, "")


def _independence(answer: Independence) -> str:
    if answer.effect is None or answer.detectable is None:
        return ""
    moved = f"the other shares change the loss by up to {_percent(answer.effect)}"
    if _contradicted(answer.adjusted):
        return f"CONTRADICTED ({_p(answer.adjusted)}): {moved}; noise alone reaches {_percent(answer.detectable)}"
    return f"no contradiction found ({_p(answer.adjusted)}): {moved}; noise alone reaches {_percent(answer.detectable)}"


def _invariance(answer: Invariance) -> str:
    changes = [
        f"{_signed(slope[0])} [{_signed(slope[1])}, {_signed(slope[2])}] per tenfold {name}"
        for name, slope in (("N", answer.per_decade_n), ("D", answer.per_decade_d))
        if slope is not None
    ]
    verdict = "CONTRADICTED" if _contradicted(answer.adjusted) else "no contradiction found"
    return f"{verdict} ({_p(answer.adjusted)}): gamma changes by {', '.join(changes)}"


def _contradicted(adjusted: float | None) -> bool:
    return adjusted is not None and adjusted < LEVEL


def _p(value: float | None) -> str:
    return "" if value is None else f"p {value:.2f}" if value >= 0.01 else f"p {value:.2g}"


def _percent(part: float) -> str:
    return f"{number4(round(100 * part, 2))} %"


def _signed(value: float) -> str:
    return f"{value:+.4f}"
