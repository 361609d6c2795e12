"""A mixture's plan: what is available, asked, given and repeated, by output, source and stratum."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from rich.console import Console

from winnow.pipelines.mix.candidates import EMPTY
from winnow.pipelines.mix.tokens import NO_TEXT, STATUSES
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, element, folded, join, plain
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Share, Table, heads, largest, table
from winnow.runners.tables.units import COUNT, METER, NAME, RATIO, SHARE
from winnow.runners.terminal.tables import print_remarks, print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.mixture import OF_LAW, Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.summary import StoreSummary

SHOWN_STRATA = 40
SHOWN_ON_PAGES = 200
SHOWN_NOTES = 3
LAW_CHARACTERS = 120

_NO_TEXT = STATUSES[NO_TEXT]
PARTS = ("class", "source", "family", "language", "band")

AMOUNTS: tuple[Column[PlannedStratum], ...] = (
    Column("available", COUNT, lambda one: one.available.units),
    Column("asked", COUNT, lambda one: one.asked),
    Column("given", COUNT, lambda one: one.given.units),
    Column("epochs", RATIO, lambda one: one.given.units / one.available.units if one.available.units else "-"),
    Column("samples", COUNT, lambda one: one.given.samples),
    Column("repeated", COUNT, lambda one: one.repeated.units),
)
EXPOSURES: tuple[Column[PlannedStratum], ...] = (
    Column("output", NAME, lambda one: _named(one)),
    Column("available", COUNT, lambda one: one.available.units),
    Column("given before", COUNT, lambda one: one.exposed),
    Column("unique", COUNT, lambda one: one.unique.units),
    Column("repeated", COUNT, lambda one: one.repeated.units),
    Column("given", COUNT, lambda one: one.given.units),
    Column("samples", COUNT, lambda one: one.given.samples),
)


def outputs(plan: MixturePlan) -> Table:
    """What each output asks for, and is given."""
    rows = [replace(combined(one.strata, one.name), asked=one.budget) for one in plan.outputs]
    repeated: Column[PlannedStratum] = Column("repeated", COUNT, lambda one: one.repeated.samples)
    columns = (Column("output", NAME, _named), *AMOUNTS[:5], repeated)
    return table("Asked and given", columns, rows)


def exposures(plan: MixturePlan) -> Table:
    """How often samples are given, over all stages."""
    return table("Exposure ledger", EXPOSURES, [combined(one.strata, one.name) for one in plan.outputs])


def by_part(output: PlannedOutput, part: Literal["source", "family"]) -> list[PlannedStratum]:
    """The strata of an output, those of each source or family together; those that give most first."""
    found: dict[str, list[PlannedStratum]] = {}
    for one in output.strata:
        found.setdefault(getattr(one.stratum, part), []).append(one)
    return sorted((combined(of, name) for name, of in found.items()), key=lambda one: (-one.given.units, one.stratum))


def by_source(plan: MixturePlan, output: PlannedOutput) -> Table:
    """What an output is given of each source."""
    rows = by_part(output, "source")
    columns = (Column("source", NAME, _named), *AMOUNTS[:4], _share_of(output), replace(_share_of(output), unit=METER))
    return table(f"{output.name}, by source, in {plan.unit}", columns, rows)


def strata(plan: MixturePlan, output: PlannedOutput, most: int) -> Table:
    """The strata of an output, those that give most first, by their parts and by their whole name."""
    by_size = sorted(output.strata, key=lambda one: (-one.given.units, one.stratum))
    shown = largest(by_size, most, lambda rest: combined(rest, f"({len(rest):,} others)"))
    columns: list[Column[PlannedStratum]] = [
        Column("class", NAME, lambda one: one.stratum.source_class),
        Column("source", NAME, lambda one: one.stratum.source),
        Column("family", NAME, lambda one: one.stratum.family),
        Column("language", NAME, lambda one: one.stratum.language),
    ]
    columns += [Column("band", NAME, lambda one: one.stratum.band)] if any(one.stratum.band for one in by_size) else []
    columns += [Column("stratum", NAME, _named), *AMOUNTS[:3], _share_of(output), *AMOUNTS[3:]]
    title = f"{output.name}: {grouped(output.budget)} {plan.unit} asked, {grouped(output.given.units)} given"
    return table(title, columns, shown, combined(output.strata, "all") if len(output.strata) > 1 else None)


def left_out(plan: MixturePlan) -> Table:
    """What the rules keep and no output may take."""
    rows = [(name, one.samples, Share(one.samples, plan.kept.samples)) for name, one in plan.left_out.items()]
    columns = heads("reason", ("samples", COUNT), ("share", SHARE))
    return Table("Kept by the rules but not in the mixture", columns, rows)


def combined(some: Sequence[PlannedStratum], name: str) -> PlannedStratum:
    """Strata together, under a name."""

    def total(amount: Callable[[PlannedStratum], Amount]) -> Amount:
        return sum(map(amount, some), Amount())

    return PlannedStratum(
        Stratum(name, "", "", ""),
        total(lambda one: one.available),
        sum(one.exposed for one in some),
        sum(one.asked for one in some),
        sum(one.target for one in some),
        total(lambda one: one.given),
        total(lambda one: one.unique),
        0,
        -1,
    )


def _named(one: PlannedStratum) -> str:
    return str(one.stratum)


def _share_of(output: PlannedOutput) -> Column[PlannedStratum]:
    whole = output.given.units
    return Column("share", SHARE, lambda one: Share(one.given.units, whole))


def print_mixture(plan: MixturePlan, console: Console, recipe: str, *, all_notes: bool = False) -> None:
    """Print a plan's tables and notes."""
    for output in plan.outputs:
        print_tables(console, strata(plan, output, SHOWN_STRATA).without("stratum"))
        _print_notes(output, console, recipe, all_notes)
    print_tables(console, left_out(plan))
    print_remarks(console, plan.notes)
    print_plan_line(plan, console)


def print_notes(plan: MixturePlan, console: Console, recipe: str, *, all_notes: bool = False) -> None:
    """Print a plan's notes; those on the law are one line, unless all are wanted."""
    for output in plan.outputs:
        _print_notes(output, console, recipe, all_notes)
    print_remarks(console, plan.notes)


def _print_notes(output: PlannedOutput, console: Console, recipe: str, all_notes: bool) -> None:
    of_law = [one for one in output.notes if one.startswith(OF_LAW)]
    brief = not all_notes and (len(of_law) > 1 or len("".join(of_law)) > LAW_CHARACTERS)
    notes = [one for one in output.notes if one not in of_law] if brief else list(output.notes)
    if brief:
        first = of_law[0] if len(of_law[0]) <= LAW_CHARACTERS else f"{of_law[0][:LAW_CHARACTERS]}…"
        more = f"; {len(of_law) - 1} more" if of_law[1:] else ""
        notes.append(f"{first}{more}; all of it: winnow mix {shlex.quote(recipe)} --notes")
    print_remarks(console, (f"{output.name}: {one}" for one in notes))


def print_plan_line(plan: MixturePlan, console: Console, textless: int = 0) -> None:
    """Print a plan on one line; of the samples without a text, so many are no media."""
    of = "" if plan.sample == "1" else f" ({plan.sample} of it is drawn)"
    console.print(f"plan    {plan.name}{of}: {_all(plan)}{_without(plan, textless)}")


def _all(plan: MixturePlan) -> str:
    return "; ".join(
        f"{output.name} {count_of(output.given.samples, 'sample')}{_repeats(output)}{_in_units(plan, output.given)}"
        for output in plan.outputs
    )


def _without(plan: MixturePlan, textless: int) -> str:
    counts = {reason: amount.samples for reason, amount in plan.left_out.items()}
    absent = counts.get(_NO_TEXT, 0)
    media = min(absent, absent + counts.get(EMPTY, 0) - textless) if textless else 0
    some = "" if media == absent else f"{grouped(media)} of them "
    of = {_NO_TEXT: f" ({some}pictures and videos without captions)"} if media > 0 else {}
    reasons = ", ".join(f"{reason} {grouped(count)}{of.get(reason, '')}" for reason, count in counts.items())
    return f"; kept, but not in it: {reasons}" if reasons else ""


def _repeats(output: PlannedOutput) -> str:
    repeats = output.repeated.samples
    return f" ({repeats:,} of them repeats)" if repeats else ""


def _in_units(plan: MixturePlan, amount: Amount) -> str:
    return "" if plan.unit == "samples" else f", {grouped(amount.units)} {plan.unit}"


def mixture(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page: asked, given and epochs of every output; strata are folded."""
    plan = examples.plan
    if plan is None:
        return None
    parts = [element("p", plain("Plan "), element("code", plain(plan.name)), plain(f"; amounts are in {plan.unit}."))]
    parts.append(drawn(outputs(plan)))
    for output in plan.outputs:
        if output.strata:
            listed = strata(plan, output, SHOWN_ON_PAGES).without(*PARTS)
            counted = f"{output.name}: {count_of(len(output.strata), 'stratum', 'strata')}"
            parts += [drawn(by_source(plan, output)), folded(counted, drawn(listed))]
        else:
            parts.append(note(f"{output.name}: no strata"))
        parts += _drawn_notes(output.notes)
    if plan.left_out:
        parts.append(drawn(left_out(plan)))
    return Block("mixture", "Mixture", join([*parts, *_drawn_notes(plan.notes)]))


def _drawn_notes(notes: Iterable[str]) -> list[Html]:
    found = [note(one) for one in notes]
    return found if len(found) <= SHOWN_NOTES else [folded(f"{len(found)} notes on this", *found)]
