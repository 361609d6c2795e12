"""Tables of a mixture plan: what is available, requested, drawn and repeated, by output and stratum."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from winnow.pipelines.mix.candidates import EMPTY
from winnow.pipelines.mix.tokens import NO_TEXT, STATUSES
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.terminal.tables import Grid, print_grid
from winnow.schemas.counts import count_of
from winnow.schemas.mixture import OF_LAW, Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum

SHOWN_STRATA = 40
LAW_CHARACTERS = 120

_NO_TEXT = STATUSES[NO_TEXT]
_HEADERS = ("class", "source", "family", "language", "band")
_NUMBERS = ("available", "asked", "given", "share", "epochs", "samples", "repeated")


def print_mixture(plan: MixturePlan, console: Console, recipe: str, *, all_notes: bool = False) -> None:
    """Print a plan's tables and notes."""
    for output in plan.outputs:
        print_grid(console, _output(plan, output))
        _print_notes(output, console, recipe, all_notes)
    if plan.left_out:
        print_grid(console, _left_out(plan))
    for note in plan.notes:
        console.print(f"note    {note}", markup=False, soft_wrap=True)
    print_plan_line(plan, console)


def print_notes(plan: MixturePlan, console: Console, recipe: str, *, all_notes: bool = False) -> None:
    """Print a plan's notes; those on the law are one line, unless all are wanted."""
    for output in plan.outputs:
        _print_notes(output, console, recipe, all_notes)
    for note in plan.notes:
        console.print(f"note    {note}", markup=False, soft_wrap=True)


def _print_notes(output: PlannedOutput, console: Console, recipe: str, all_notes: bool) -> None:
    of_law = [note for note in output.notes if note.startswith(OF_LAW)]
    brief = not all_notes and (len(of_law) > 1 or len("".join(of_law)) > LAW_CHARACTERS)
    notes = [note for note in output.notes if note not in of_law] if brief else list(output.notes)
    if brief:
        first = of_law[0] if len(of_law[0]) <= LAW_CHARACTERS else f"{of_law[0][:LAW_CHARACTERS]}…"
        more = f"; {len(of_law) - 1} more" if of_law[1:] else ""
        notes.append(f"{first}{more}; all of it: winnow mix {shlex.quote(recipe)} --notes")
    for note in notes:
        console.print(f"note    {output.name}: {note}", markup=False, soft_wrap=True)


def print_plan_line(plan: MixturePlan, console: Console, textless: int = 0) -> None:
    """Print a plan on one line; of the samples without a text, so many are no media."""
    of = "" if plan.sample == "1" else f" ({plan.sample} of it is drawn)"
    console.print(f"plan    {plan.name}{of}: {_all(plan)}{_without(plan, textless)}", markup=False, soft_wrap=True)


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


def _output(plan: MixturePlan, output: PlannedOutput) -> Grid:
    bands = any(one.stratum.band for one in output.strata)
    by_size = sorted(output.strata, key=lambda one: (-one.given.units, one.stratum))
    whole = output.given.units
    rows = [_row(one, whole, bands) for one in by_size[:SHOWN_STRATA]]
    if rest := by_size[SHOWN_STRATA:]:
        rows.append(_row(_combined(rest, f"({len(rest):,} others)"), whole, bands))
    footer = _row(_combined(output.strata, "all"), whole, bands) if len(output.strata) > 1 else None
    title = f"{output.name}: {grouped(output.budget)} {plan.unit} asked, {grouped(whole)} given"
    names = _HEADERS if bands else _HEADERS[:-1]
    return Grid(title, (*names, *_NUMBERS), rows, frozenset(range(len(names))), footer)


def _row(one: PlannedStratum, whole: int, bands: bool) -> tuple[str, ...]:
    stratum = one.stratum
    names = (stratum.source_class, stratum.source, stratum.family, stratum.language, stratum.band)
    return (
        *(names if bands else names[:-1]),
        grouped(one.available.units),
        grouped(one.asked),
        grouped(one.given.units),
        share(one.given.units, whole),
        f"{one.given.units / one.available.units:.2f}" if one.available.units else "-",
        grouped(one.given.samples),
        grouped(one.repeated.units),
    )


def _combined(strata: Sequence[PlannedStratum], name: str) -> PlannedStratum:
    def total(amounts: Sequence[Amount]) -> Amount:
        return sum(amounts, Amount())

    return PlannedStratum(
        Stratum(name, "", "", ""),
        total([one.available for one in strata]),
        sum(one.exposed for one in strata),
        sum(one.asked for one in strata),
        sum(one.target for one in strata),
        total([one.given for one in strata]),
        total([one.unique for one in strata]),
        0,
        -1,
    )


def _left_out(plan: MixturePlan) -> Grid:
    rows = [
        (reason, grouped(amount.samples), share(amount.samples, plan.kept.samples))
        for reason, amount in plan.left_out.items()
    ]
    return Grid("Kept by the rules but not in the mixture", ("reason", "samples", "share"), rows, frozenset({0}))
