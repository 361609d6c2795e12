"""The funnel: from records through reading, rules and duplicates to the mixture, in every unit that is measured."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from winnow.pipelines.ingest.caption_tables import DESCRIBED
from winnow.runners.facts.headline import MEANINGS
from winnow.runners.inspect.cells import KEPT, Cells, cells, cells_where
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import drawn_mixture, store_summary
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.mixture import Amount

_PHASES: Final = (("eligible", ("eligible",)), ("unique", ("dedupe",)), ("kept", ("items", "keep")))
"""The steps of rules: what they lose, they lose to rules of these lists."""


def answer(opened: Opened, asked: Asked) -> Answer:
    """The steps, each with its amounts and the reasons of what it loses.

    Asked: `filter` (source, language, domain), which leaves out the steps that are not counted by rows. Amounts of
    rows are those of samples that are not forgotten; the bytes of a step are those of texts where these are measured.
    """
    found, chosen = cells(opened), asked.get("filter")
    summary = store_summary(opened).total()
    steps: list[dict[str, Any]] = []
    if not chosen:
        values = {"rows": summary.records - summary.described, "bytes_read": summary.input_bytes}
        steps.append(_step("records", values, []))
    read = _sums(found, chosen, "true")
    unread = {name: count for name, count in summary.dropped.items() if name != DESCRIBED}
    unread |= {f"quarantined: {name}": count for name, count in summary.quarantined.items()}
    steps.append(_step("samples", read, [] if chosen else _counts(unread)))
    if found.decided.undecided is None:
        rules = found.decided.pinned.program.rules
        gone: list[int] = []
        for name, phases in _PHASES:
            own = [number for number, one in enumerate(rules) if one.phase in phases]
            gone += own
            left = _sums(found, chosen, f"NOT list_contains({gone}::INTEGER[], first)")
            steps.append(_step(name, left, _reasons(found, chosen, own)))
    plan = None if chosen else drawn_mixture(opened)
    if plan is not None:
        drawn = sum((output.given for output in plan.outputs), Amount())
        values = {"rows": drawn.samples} | ({} if plan.unit == "samples" else {plan.unit: drawn.units})
        outputs = [{"reason": output.name, "rows": output.given.samples} for output in plan.outputs]
        steps.append(_step("drawn", values, []) | {"outputs": outputs})
    return {
        "units": list(found.units),
        "bytes_of": found.decided.pinned.bytes_of,
        "steps": steps,
        "undecided": found.decided.undecided,
        "plan": None if plan is None else plan.name,
    }


def _step(name: str, values: Mapping[str, int], lost: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A step; `lost` says for which reasons rows of the step before are not in it."""
    return {"name": name, "detail": MEANINGS[name], "values": dict(values), "lost": list(lost)}


def _sums(found: Cells, chosen: Any, condition: str) -> dict[str, int]:
    where, values = cells_where(found, chosen)
    sums = ", ".join(f"coalesce(sum({unit}), 0)::BIGINT AS {unit}" for unit in found.units)
    (row,) = found.select(f"SELECT {sums} FROM cells WHERE {where} AND {condition}", values)
    return row


def _reasons(found: Cells, chosen: Any, numbers: Sequence[int]) -> list[dict[str, Any]]:
    where, values = cells_where(found, chosen)
    rows = found.select(
        f"""SELECT first, sum(rows)::BIGINT AS rows FROM cells
        WHERE {where} AND first <> {KEPT} AND list_contains({list(numbers)}::INTEGER[], first) GROUP BY first""",
        values,
    )
    return _counts({found.decided.reasons[row["first"]]: row["rows"] for row in rows})


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [{"reason": name, "rows": count} for name, count in ordered if count]


VIEW = View(answer)
