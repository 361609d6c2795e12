"""The section on what changed since the last report whose figures were others."""

from collections.abc import Mapping

from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import Figures
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, crawled, element, join, plain, table
from winnow.runners.tables.quantities import grouped
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary

SHOWN = 15


def changes(_: StoreSummary, examples: Examples) -> Block | None:
    """The steps, rules and languages whose numbers differ."""
    before, now = examples.before, examples.now
    if before is None or now is None:
        return None
    unit = now.unit or before.unit or "units"
    parts = [_steps(before, now)]
    drops = _differing(before.drops, now.drops)
    if drops:
        parts.append(_compared("Rules that drop more or fewer samples", "rule", drops))
    for title, read in (
        ("Languages of which more or fewer samples are kept", lambda one: one.kept),
        (f"Languages of which more or less is drawn, in {unit}", lambda one: one.given),
    ):
        was, is_ = ({code: read(one) for code, one in found.items()} for found in (before.languages, now.languages))
        if found := _differing(was, is_):
            parts.append(_compared(title, "language", found))
    if before.plan != now.plan:
        plans = f"The plan was {before.plan or 'not made'} and is {now.plan or 'not made'}."
        parts.append(element("p", crawled(plans), class_="note"))
    kept = [step.samples for figures in (before, now) for step in figures.steps if step.name == "kept"]
    brief = _more_or_fewer(*kept) if len(kept) == 2 else ""
    return Block("changes", "Changes since the last run", join(parts), brief)


def _steps(before: Figures, now: Figures) -> Html:
    was, is_ = ({step.name: step for step in figures.steps} for figures in (before, now))
    names = [step.name for step in now.steps] + [name for name in was if name not in is_]
    rows = []
    for name in names:
        cells: list[Html] = []
        for read in (lambda one: one.samples, lambda one: one.units):
            numbers = [None if name not in found else read(found[name]) for found in (was, is_)]
            cells += [plain("-" if number is None else grouped(number)) for number in numbers]
            old, new = numbers
            cells.append(plain(_signed(new - old) if old is not None and new is not None else ""))
        rows.append([plain(name), *cells])
    unit = now.unit or before.unit
    headers = [Header("step"), Header("samples before", True), Header("now", True), Header("change", True)]
    if unit is None:
        return table("From records to the mixture", headers, [row[:4] for row in rows])
    headers += [Header(f"{unit} before", True), Header("now", True), Header("change", True)]
    return table("From records to the mixture", headers, rows)


def _differing(before: Mapping[str, int], now: Mapping[str, int]) -> list[tuple[str, int | None, int | None]]:
    """Names whose numbers differ, those that differ most first; None where a name is not there."""
    found = [
        (name, before.get(name), now.get(name)) for name in {**before, **now} if before.get(name, 0) != now.get(name, 0)
    ]
    return sorted(found, key=lambda one: (-abs((one[2] or 0) - (one[1] or 0)), one[0]))


def _compared(title: str, name: str, found: list[tuple[str, int | None, int | None]]) -> Html:
    headers = [Header(name), Header("before", True), Header("now", True), Header("change", True)]
    rows = [
        [
            crawled(one),
            *(plain("-" if number is None else grouped(number)) for number in (was, is_)),
            plain(_signed((is_ or 0) - (was or 0))),
        ]
        for one, was, is_ in found[:SHOWN]
    ]
    if rest := found[SHOWN:]:
        rows.append([plain(f"{len(rest):,} others"), plain(""), plain(""), plain("")])
    return table(title, headers, rows)


def _more_or_fewer(before: int, now: int) -> str:
    if before == now:
        return f"as many samples are kept: {grouped(now)}"
    return f"{count_of(abs(now - before), 'more sample' if now > before else 'fewer sample')} kept"


def _signed(number: int) -> str:
    return "0" if number == 0 else f"{'+' if number > 0 else '−'}{grouped(abs(number))}"
