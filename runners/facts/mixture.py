"""The sections on the mixture: what was asked and given, by output, source and stratum, and its exports."""

from collections.abc import Callable, Iterable, Mapping

from winnow.runners.facts.examples import Examples, ExportState
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, breakable, crawled, element, folded, join, meter, plain, table
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.schemas.counts import count_of
from winnow.schemas.mixture import MixturePlan, PlannedOutput, PlannedStratum
from winnow.schemas.summary import StoreSummary

SHOWN_STRATA = 200
SHOWN_NOTES = 3


def mixture(_: StoreSummary, examples: Examples) -> Block | None:
    """Asked, given and epochs of every output; strata are folded."""
    plan = examples.plan
    if plan is None:
        return None
    parts = [element("p", plain("Plan "), element("code", plain(plan.name)), plain(f"; amounts are in {plan.unit}."))]
    headers = [Header("output"), *_amount_headers(), Header("samples", True), Header("repeated", True)]
    rows = [[crawled(one.name), *_amounts(one.strata, one.budget), *_samples(one)] for one in plan.outputs]
    parts.append(table("Asked and given", headers, rows))
    for output in plan.outputs:
        parts += _output(output, plan)
    if plan.left_out:
        lost = [
            [crawled(reason), plain(grouped(amount.samples)), plain(share(amount.samples, plan.kept.samples))]
            for reason, amount in plan.left_out.items()
        ]
        titles = [Header("reason"), Header("samples", True), Header("share of kept", True)]
        parts.append(table("Kept by the rules but not in the mixture", titles, lost))
    parts += _notes(plan.notes)
    return Block("mixture", "Mixture", join(parts))


def exports(_: StoreSummary, examples: Examples) -> Block | None:
    """The exports that the recipe names, as they are now."""
    if not examples.exports:
        return None
    headers = [Header("format"), Header("place"), Header("samples"), Header("files", True), Header("size", True)]
    rows = [
        [
            plain(one.format),
            breakable(one.place),
            join(_whole(f"{name} {grouped(count)}") for name, count in one.outputs.items()) or plain("-"),
            plain(grouped(one.files)),
            plain(byte_size(one.bytes)),
            plain(_state(one, examples.plan)),
        ]
        for one in examples.exports
    ]
    return Block("exports", "Exports", table("Exports of the recipe", [*headers, Header("state")], rows))


def _whole(text: str) -> Html:
    return element("span", plain(text), class_="whole")


def _state(one: ExportState, plan: MixturePlan | None) -> str:
    if one.problem is not None:
        return one.problem
    if one.plan is None:
        return "not written yet"
    if plan is None or one.plan != plan.name:
        return f"of another plan, {one.plan}"
    return f"complete; {grouped(one.left_out)} samples left out" if one.left_out else "complete"


def _output(output: PlannedOutput, plan: MixturePlan) -> list[Html]:
    if not output.strata:
        return [element("p", plain(f"{output.name}: no strata"), class_="note"), *_notes(output.notes)]
    sources = _by(output.strata, lambda one: one.stratum.source)
    whole = output.given.units
    headers = [Header("source"), *_amount_headers(), Header("share of given", True), Header("")]
    rows = [
        [
            crawled(name),
            *_amounts(strata, sum(one.asked for one in strata)),
            plain(share(_given(strata), whole)),
            meter(_given(strata), whole),
        ]
        for name, strata in sorted(sources.items(), key=lambda item: (-_given(item[1]), item[0]))
    ]
    by_size = sorted(output.strata, key=lambda one: (-one.given.units, one.stratum))
    strata = [
        [crawled(str(one.stratum)), *_amounts([one], one.asked), plain(grouped(one.given.samples))]
        for one in by_size[:SHOWN_STRATA]
    ]
    if rest := by_size[SHOWN_STRATA:]:
        amounts = _amounts(rest, sum(one.asked for one in rest))
        samples = grouped(sum(one.given.samples for one in rest))
        strata.append([plain(f"{len(rest):,} others"), *amounts, plain(samples)])
    titles = [Header("stratum"), *_amount_headers(), Header("samples", True)]
    return [
        table(f"{output.name}, by source, in {plan.unit}", headers, rows),
        folded(
            f"{output.name}: {count_of(len(output.strata), 'stratum', 'strata')}",
            table(f"Strata of {output.name}, in {plan.unit}", titles, strata),
        ),
        *_notes(output.notes),
    ]


def _notes(notes: Iterable[str]) -> list[Html]:
    found = [element("p", crawled(note), class_="note") for note in notes]
    if len(found) <= SHOWN_NOTES:
        return found
    return [folded(f"{len(found)} notes on this", *found)]


def _amount_headers() -> list[Header]:
    return [Header(name, True) for name in ("available", "asked", "given", "epochs")]


def _amounts(strata: Iterable[PlannedStratum], asked: int) -> list[Html]:
    strata = list(strata)
    available, given = sum(one.available.units for one in strata), _given(strata)
    epochs = f"{given / available:.2f}" if available else "-"
    return [plain(grouped(available)), plain(grouped(asked)), plain(grouped(given)), plain(epochs)]


def _samples(output: PlannedOutput) -> list[Html]:
    return [plain(grouped(output.given.samples)), plain(grouped(output.repeated.samples))]


def _given(strata: Iterable[PlannedStratum]) -> int:
    return sum(one.given.units for one in strata)


def _by(strata: Iterable[PlannedStratum], key: Callable[[PlannedStratum], str]) -> Mapping[str, list[PlannedStratum]]:
    found: dict[str, list[PlannedStratum]] = {}
    for one in strata:
        found.setdefault(key(one), []).append(one)
    return found
