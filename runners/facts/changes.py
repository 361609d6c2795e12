"""The section on what changed since the last report whose figures were others."""

from collections.abc import Mapping

from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import Figures
from winnow.runners.report.block import Block
from winnow.runners.report.markup import join
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Table, Value, heads
from winnow.runners.tables.units import CHANGE, COUNT
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary

SHOWN = 15


def changes(_: StoreSummary, examples: Examples) -> Block | None:
    """The steps, rules and languages whose numbers differ."""
    before, now = examples.before, examples.now
    if before is None or now is None:
        return None
    unit = now.unit or before.unit or "units"
    parts = [drawn(_steps(before, now))]
    drops = _differing(before.drops, now.drops)
    if drops:
        parts.append(drawn(_compared("Rules that drop more or fewer samples", "rule", drops)))
    for title, read in (
        ("Languages of which more or fewer samples are kept", lambda one: one.kept),
        (f"Languages of which more or less is drawn, in {unit}", lambda one: one.given),
    ):
        was, is_ = ({code: read(one) for code, one in found.items()} for found in (before.languages, now.languages))
        if found := _differing(was, is_):
            parts.append(drawn(_compared(title, "language", found)))
    if before.plan != now.plan:
        plans = f"The plan was {before.plan or 'not made'} and is {now.plan or 'not made'}."
        parts.append(note(plans))
    kept = [step.samples for figures in (before, now) for step in figures.steps if step.name == "kept"]
    brief = _more_or_fewer(*kept) if len(kept) == 2 else ""
    return Block("changes", "Changes since the last run", join(parts), brief)


def _steps(before: Figures, now: Figures) -> Table:
    was, is_ = ({step.name: step for step in figures.steps} for figures in (before, now))
    rows: list[tuple[Value, ...]] = []
    for name in dict.fromkeys((*is_, *was)):
        row: list[Value] = [name]
        for read in (lambda one: one.samples, lambda one: one.units):
            old, new = (read(found[name]) if name in found else None for found in (was, is_))
            row += _beside(old, new, None if old is None or new is None else new - old)
        rows.append(tuple(row))
    unit = now.unit or before.unit
    columns = heads("step", ("samples before", COUNT), ("now", COUNT), ("change", CHANGE))
    columns += heads((f"{unit} before", COUNT), ("now", COUNT), ("change", CHANGE))
    found = Table("From records to the mixture", columns, rows)
    return found if unit is not None else Table(found.title, columns[:4], [row[:4] for row in rows])


def _beside(old: int | None, new: int | None, change: int | None) -> tuple[Value, ...]:
    return "-" if old is None else old, "-" if new is None else new, change


def _differing(before: Mapping[str, int], now: Mapping[str, int]) -> list[tuple[str, int | None, int | None]]:
    """Names whose numbers differ, those that differ most first; None where a name is not there."""
    found = [
        (name, before.get(name), now.get(name)) for name in {**before, **now} if before.get(name, 0) != now.get(name, 0)
    ]
    return sorted(found, key=lambda one: (-abs((one[2] or 0) - (one[1] or 0)), one[0]))


def _compared(title: str, name: str, found: list[tuple[str, int | None, int | None]]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (one, *_beside(was, is_, (is_ or 0) - (was or 0))) for one, was, is_ in found[:SHOWN]
    ]
    rows += [(f"{len(found) - SHOWN:,} others", None, None, None)] if found[SHOWN:] else []
    return Table(title, heads(name, ("before", COUNT), ("now", COUNT), ("change", CHANGE)), rows)


def _more_or_fewer(before: int, now: int) -> str:
    if before == now:
        return f"as many samples are kept: {grouped(now)}"
    return f"{count_of(abs(now - before), 'more sample' if now > before else 'fewer sample')} kept"
