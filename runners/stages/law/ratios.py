"""`winnow law ratios`: the shares of least loss with intervals, the paper's two approximations, and sensitivity."""

import argparse
import csv
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from winnow.pipelines.mix.laws import read_law
from winnow.runners.stages.law.amounts import read_amounts, size
from winnow.runners.stages.law.files import output_path, plot_path, require_distinct, write_files
from winnow.runners.stages.law.views import (
    NUMBER4,
    SHARE4,
    confidence,
    number4,
    number6,
    print_warnings,
    require_numbers,
)
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Table, Value, each, heads
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.law import ScalingLaw
from winnow.schemas.problems import shown
from winnow.scoring.sampling import Inventory, proportional, unimax
from winnow.scoring.scaling_law.mixing import (
    WEIGHTINGS,
    RatioObjective,
    Ratios,
    Sensitivity,
    Weighting,
    Weights,
    family_ratios,
    sensitivity,
    weights_of,
)
from winnow.scoring.scaling_law.predicting import exponents, losses, scales
from winnow.scoring.scaling_law.ratios import closed_form, iterated

MOST_SENSITIVITY: Final = 200
"""The most families for a sensitivity table, which solves the problem twice per family."""
FALLBACK_EPOCHS: Final = 4.0
"""Up to 4 epochs are worth nearly as much as new tokens (arXiv 2305.16264)."""

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Answer:
    """All results of one request."""

    question: RatioObjective
    ratios: Ratios
    closed: tuple[float, ...]
    iterated: tuple[float, ...] | None  # only if all exponents are below 1
    losses: tuple[float, ...]  # per family, at its share
    in_units: bool  # whether in the unit of losses, or relative to the loss at p = 1
    sensitivity: tuple[Sensitivity, ...]
    others: Mapping[str, float]  # shares of families without an exponent
    fallback: str  # how these were determined
    warnings: tuple[str, ...]


def run(options: argparse.Namespace, console: Console) -> int:
    """Compute the ratios, and write and print them."""
    plot, table = plot_path("--plot", options.plot), output_path("--csv", options.csv)
    law = read_law(options.law)
    answer = _answer(law, options)
    written = [] if table is None else [("shares", table, _csv(answer))]
    if plot is not None:
        from winnow.runners.stages.law.plots import ratios_plot

        written.append(("plot", plot, ratios_plot(law, _weightings(law, answer, options.weights))))
    write_files([(file, content) for _, file, content in written])
    if options.json:
        sys.stdout.write(json.dumps(_described(answer, options.weights), ensure_ascii=False) + "\n")
        return 0
    _print(law, answer, options.weights, console)
    for what, file, _ in written:
        print_line(console, f"{what:<6} {file}")
    return 0


def given_weights(option: str, law: ScalingLaw) -> Weights:
    """Parse `--weights`: the name of a weighting, or a file with a weight for each family of the law."""
    named: dict[str, Weighting] = {"normalised": "normalised", "normalized": "normalised", "uniform": "uniform"}
    if option in named:
        return named[option]
    try:
        weights = read_amounts(option, "weight")
        weights_of(law.names, weights)
        return weights
    except WinnowError as error:
        where = "" if str(error).startswith(option) else f"{option}: "
        raise SourceError(f"{where}{error}") from None
    except FileNotFoundError:
        raise WinnowError(f"--weights {option}: expected {' or '.join(WEIGHTINGS)}, or an existing file") from None


def _answer(law: ScalingLaw, options: argparse.Namespace) -> Answer:
    n, d = size("--n", options.n), size("--d", options.d)
    weights = given_weights(options.weights, law)
    inputs = [("LAW.json", Path(options.law))]
    inputs += [("the weights", Path(options.weights))] if not isinstance(weights, str) else []
    inputs += [("--tokens", Path(options.tokens))] if options.tokens else []
    outputs = [(f"--{name}", Path(file)) for name in ("csv", "plot") if (file := getattr(options, name))]
    require_distinct(*inputs, *outputs)
    if weights != "normalised" and (n is None or d is None):
        raise WinnowError(
            f"--weights {options.weights}: needs --n and --d, since only ratios of normalised losses are the same at "
            "every size"
        )
    others, fallback = _fallback_shares(law, options, d)
    question = RatioObjective(weights, n, d, 1.0 - sum(others.values()))
    found = family_ratios(law, question)
    gammas, shares = exponents(law), np.array(found.shares)
    k = np.ones(len(gammas)) if weights == "normalised" or n is None or d is None else scales(law, n, d)
    warnings = found.warnings
    if not isinstance(weights, str):
        given = weights_of(law.names, weights)
        k = k * given
        if abs(float(given.sum()) - 1) > 1e-3:
            warnings = (
                *warnings,
                f"weights sum to {given.sum():.4g}, not to 1: only their proportions matter",
            )
    # The approximations distribute 1, but the law's families may get less: p = total q gives the same problem in q.
    k = k * question.total**-gammas
    predicted = _predicted(law, n, d, shares)
    numbers = (found.objective, found.equal_objective, found.gain_low, found.gain_high, *found.low, *found.high)
    require_numbers(options.law, (*numbers, *(() if predicted is None else predicted.tolist())))
    return Answer(
        question,
        found,
        tuple((question.total * closed_form(k, gammas)).tolist()),
        tuple((question.total * iterated(k, gammas)).tolist()) if gammas.max() < 1 else None,
        tuple((shares**-gammas if predicted is None else predicted).tolist()),
        predicted is not None,
        sensitivity(law, question) if len(law.families) <= MOST_SENSITIVITY else (),
        others,
        fallback,
        warnings,
    )


def _fallback_shares(law: ScalingLaw, options: argparse.Namespace, d: float | None) -> tuple[dict[str, float], str]:
    """The shares of families without an exponent, and the method that determined them."""
    tokens = read_amounts(options.tokens, "tokens") if options.tokens else None
    named = dict.fromkeys([*options.others, *(tokens or ())])
    others = sorted(name for name in named if name not in law.names)
    if known := [name for name in options.others if name in law.names]:
        raise WinnowError(f"--with {', '.join(map(shown, known))}: the law has an exponent for it; omit it")
    if not others:
        return {}, ""
    count = len(others) + len(law.families)
    if tokens is None:
        if options.fallback == "proportional":
            raise WinnowError(
                "--fallback proportional: needs --tokens FILE.csv with the available tokens of each family"
            )
        return dict.fromkeys(others, 1 / count), "equal shares"
    if missing := [name for name in (*law.names, *others) if name not in tokens]:
        raise WinnowError(
            f"{options.tokens}: no row for {', '.join(map(shown, missing[:6]))}; add one for every family"
        )
    everything = sum(tokens.values())
    inventory = Inventory(tokens, everything if d is None else d)
    if options.fallback == "proportional":
        mixture = proportional(inventory)
    else:
        mixture = unimax(inventory, max(FALLBACK_EPOCHS, inventory.budget / everything))
    share = dict(zip(mixture.families, mixture.shares, strict=True))
    return {name: share[name] for name in others}, f"shares by {mixture.method}"


def _predicted(law: ScalingLaw, n: float | None, d: float | None, shares: Floats) -> Floats | None:
    if n is None or d is None:
        return None
    try:
        return losses(law, n, d, shares)
    except SourceError:  # a law of gamma alone has losses only where it was fitted; ratios need none
        return None


def _weightings(law: ScalingLaw, answer: Answer, name: str) -> list[tuple[str, Ratios]]:
    """The weightings to plot: the requested one, and the two named ones if they can be computed."""
    found = [(_kind(answer, name), answer.ratios)]
    of = answer.question
    for other in WEIGHTINGS:
        sized = other == "normalised" or answer.in_units
        if other != of.weights and sized:
            found.append((f"{other} losses", family_ratios(law, RatioObjective(other, of.n, of.d, of.total))))
    return found


def _kind(answer: Answer, name: str) -> str:
    weights = answer.question.weights
    return f"{weights} losses" if isinstance(weights, str) else f"losses weighted by {name}"


def _print(law: ScalingLaw, answer: Answer, name: str, console: Console) -> None:
    of, found = answer.question, answer.ratios
    shares = each(SHARE4, "share", f"{confidence(law)} from", "to", "closed form", "iterated")
    numbers = each(NUMBER4, "gamma", "loss" if answer.in_units else "normalised loss")
    of_share = (found.shares, found.low, found.high, answer.closed, answer.iterated)
    rows: list[tuple[Value, ...]] = []
    for place, family in enumerate(law.families):
        cells = (None if column is None else column[place] for column in of_share)
        rows.append((family.family, *cells, family.gamma.value, answer.losses[place]))
    rows += [(family, share, *[None] * 6) for family, share in answer.others.items()]
    sizes = "".join(f", {letter} {value:g}" for letter, value in (("N", of.n), ("D", of.d)) if value is not None)
    title = f"Shares with the least total of {_kind(answer, name)}{sizes}"
    print_tables(console, Table(title, heads("family", *shares, *numbers), rows))
    if answer.others:
        named = ", ".join(answer.others)
        print_line(console, f"no exponent, given {answer.fallback}: {named}")
    gain = f"{number4(found.gain)} [{number4(found.gain_low)}, {number4(found.gain_high)}]"
    equal = number6(found.equal_objective)
    print_line(console, f"total {number6(found.objective)}, at equal shares {equal}; reduction {gain}")
    print_line(console, "")
    _print_sensitivity(answer, console)
    print_warnings(console, answer.warnings)


def _print_sensitivity(answer: Answer, console: Console) -> None:
    rows = [
        (
            row.family if place % 2 == 0 else "",
            row.gamma,
            row.shares[place // 2],
            answer.ratios.shares[place // 2],
            f"{row.regret:.2g}",
        )
        for place, row in enumerate(answer.sensitivity)
    ]
    shares = each(SHARE4, "best share", "share now")
    columns = heads("family", ("gamma", NUMBER4), *shares, ("cost of keeping", NUMBER4))
    print_tables(console, Table("Sensitivity: one gamma at an end of its interval", columns, rows))
    if not rows:
        print_line(console, f"no sensitivity table: the law has more than {grouped(MOST_SENSITIVITY)} families")


def _csv(answer: Answer) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("family", "share", "low", "high", "method"))
    found = answer.ratios
    for row in zip(found.families, found.shares, found.low, found.high, strict=True):
        writer.writerow((row[0], *(f"{number:.8g}" for number in row[1:]), "law"))
    for family, share in answer.others.items():
        writer.writerow((family, f"{share:.8g}", "", "", answer.fallback))
    return text.getvalue().encode()


def _described(answer: Answer, name: str) -> dict[str, Json]:
    described: dict[str, Json] = asdict(answer)
    del described["question"]
    described |= {"weights": name, "n": answer.question.n, "d": answer.question.d}
    described["loss"] = "loss" if answer.in_units else "loss over the loss at p = 1"
    return described
