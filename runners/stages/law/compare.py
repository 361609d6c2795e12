"""`winnow law compare`: compares sampling methods on the same tokens with the same law."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from rich.console import Console

from winnow.pipelines.mix.laws import read_law
from winnow.runners.stages.law.amounts import read_amounts, size
from winnow.runners.stages.law.ratios import given_weights
from winnow.runners.stages.law.views import NUMBER4, SHARE4, print_warnings, require_numbers
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Table, each, heads, table
from winnow.runners.tables.units import NAME, PRECISE, Unit
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.errors import WinnowError
from winnow.schemas.law import ScalingLaw
from winnow.scoring.sampling import (
    ComparedMixture,
    Inventory,
    by_law,
    compare,
    known_share,
    proportional,
    temperature,
    unimax,
)

UNIMAX_EPOCHS: Final = 4.0
"""Up to 4 epochs are nearly worth new tokens (arXiv 2305.16264)."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Compute the mixture of each method, predict losses, and print them."""
    law = read_law(options.law)
    tokens = read_amounts(options.tokens, "tokens")
    n, d = size("--n", options.n), size("--d", options.d)
    everything = sum(tokens.values())
    for option in ("max_epochs", "unimax_epochs"):
        most = getattr(options, option)
        if most is not None and not 0 < most < float("inf"):
            raise WinnowError(f"--{option.replace('_', '-')} {most:g}: expected a number above zero")
    inventory = Inventory(tokens, everything if d is None else d, options.max_epochs)
    weights = given_weights(options.weights, law)
    epochs = options.unimax_epochs or min(
        max(UNIMAX_EPOCHS, inventory.budget / everything), inventory.max_epochs or float("inf")
    )
    ways = [by_law(inventory, law, weights, n, repeats=repeats, unfitted=options.fallback) for repeats in (False, True)]
    mixtures = [
        proportional(inventory),
        temperature(inventory, options.temperature),
        unimax(inventory, epochs),
        *ways,
    ]
    room = known_share(ways[0], law)
    compared = compare(mixtures, inventory, law, n, room)
    for row in compared:
        require_numbers(options.law, (row.normalised, row.normalised_with_repeats, *row.losses, *row.mixture.epochs))
    notes = list(dict.fromkeys(note for mixture in mixtures for note in mixture.notes))
    if options.unimax_epochs is None and epochs > UNIMAX_EPOCHS:
        notes.append(f"UniMax: {UNIMAX_EPOCHS:g} epochs of all tokens are less than the budget; raised to {epochs:.4g}")
    if not set(tokens) <= set(law.names):
        notes.append(f"for comparable totals, each method's shares of known families are scaled to {room:.4g}")
    if absent := [name for name in law.names if name not in tokens]:
        notes.append(f"the law also knows {', '.join(absent)}, of which {options.tokens} has no tokens")
    if options.json:
        described = {
            "tokens": {name: tokens[name] for name in inventory.families},
            "budget": inventory.budget,
            "n": n,
            "known_share": room,
            "law_families": [name for name in law.names if name in tokens],
            "methods": [asdict(row) for row in compared],
            "notes": notes,
        }
        sys.stdout.write(json.dumps(described, ensure_ascii=False) + "\n")
        return 0
    _print(law, inventory, compared, n, console)
    print_warnings(console, notes)
    return 0


def _print(
    law: ScalingLaw, inventory: Inventory, compared: Sequence[ComparedMixture], n: float | None, console: Console
) -> None:
    least = min(row.normalised_with_repeats for row in compared)
    columns: tuple[Column[ComparedMixture], ...] = (
        Column("method", NAME, lambda one: one.mixture.method),
        Column("total", PRECISE, lambda one: one.normalised),
        Column("with repeats", PRECISE, lambda one: one.normalised_with_repeats),
        Column("above least", PRECISE, lambda one: f"{one.normalised_with_repeats - least:.4f}"),
        Column("most epochs", NUMBER4, lambda one: max(one.mixture.epochs)),
    )
    known = [name for name in law.names if name in inventory.families]
    print_line(
        console,
        f"{grouped(inventory.budget)} tokens of {grouped(sum(inventory.tokens.values()))} available",
        "bold",
    )
    print_line(console, f"  D     {law.units.d}")
    print_line(console, "")
    families = inventory.families
    print_tables(
        console,
        table("Predicted totals of normalised losses (loss over the loss at p = 1)", columns, compared),
        _methods_table("Shares", families, compared, lambda row: row.mixture.shares, SHARE4),
        _methods_table("Epochs", families, compared, lambda row: row.mixture.epochs, NUMBER4),
    )
    normalised = "Predicted normalised losses (loss over the loss at p = 1)"
    what = normalised if n is None else f"Predicted losses at N {n:g} ({law.units.loss})"
    title = f"{what}, with repeats at reduced value"
    print_tables(console, _methods_table(title, known, compared, lambda row: row.losses_with_repeats, NUMBER4))


def _methods_table(
    title: str,
    families: Sequence[str],
    compared: Sequence[ComparedMixture],
    column: Callable[[ComparedMixture], Sequence[float]],
    unit: Unit,
) -> Table:
    """A table with one row per family and one column per method."""
    rows = list(zip(families, *(column(row) for row in compared), strict=False))
    return Table(title, heads("family", *each(unit, *(_short(row.mixture.method) for row in compared))), rows)


def _short(method: str) -> str:
    if method.startswith("law"):
        return "law, repeats" if method.endswith("repeats") else "law"
    return method
