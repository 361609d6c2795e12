"""The funnel: from records through reading, rules and duplicates to the mixture, in every unit that is measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from winnow.pipelines.ingest.caption_tables import DESCRIBED
from winnow.runners.facts.headline import MEANINGS
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.frame import Frame, Marks, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import drawn_mixture, ingested
from winnow.runners.inspect.units import Units, units_of
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.mixture import Amount

_PHASES: Final = (("eligible", ("eligible",)), ("unique", ("dedupe",)), ("kept", ("items", "keep")))
"""The steps of rules: what they lose, they lose to rules of these lists."""


def answer(opened: Opened, asked: Asked) -> Answer:
    """The steps, each with its amounts and the reasons of what it loses.

    Asked: `filter`, which leaves out the steps that are not counted by rows. Amounts are those of samples that are not
    forgotten; the bytes of rows are those of texts where these are measured. A pixel is one of a picture's first frame.
    """
    frame, chosen = frame_of(opened), asked.get("filter")
    marks, units = chosen_rows(opened, frame, chosen), units_of(opened, frame)
    total = ingested(opened)
    steps: list[dict[str, Any]] = []
    unread = {name: count for name, count in total.dropped.items() if name != DESCRIBED}
    unread |= {f"quarantined: {name}": count for name, count in total.quarantined.items()}
    if not chosen:
        values = {"rows": total.records - total.described, "bytes_read": total.input_bytes}
        steps.append(_step("records", values, []))
    steps.append(_step("samples", _sums(units, marks), [] if chosen else _counts(unread.items())))
    if frame.why_no_rules is None:
        for name, phases in _PHASES:
            own = [number for number, one in enumerate(frame.rules.rules) if one.phase in phases]
            lost = marks & np.isin(frame.first, own)
            marks &= ~lost
            steps.append(_step(name, _sums(units, marks), _reasons(frame, units, lost)))
    plan = None if chosen else drawn_mixture(opened)
    if plan is not None:
        drawn = sum((output.given for output in plan.outputs), Amount())
        values = {"rows": drawn.samples} | ({} if plan.unit == "samples" else {plan.unit: drawn.units})
        outputs = [{"name": output.name, "rows": output.given.samples} for output in plan.outputs]
        steps.append(_step("drawn", values, []) | {"outputs": outputs})
    return {
        "units": ["rows", *units.amounts],
        "bytes_of": frame.pinned.bytes_of,
        "steps": steps,
        "undecided": frame.why_no_rules,
        "plan": None if plan is None else plan.name,
    }


def _step(name: str, values: Mapping[str, int], lost: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A step; `lost` says for which reasons rows of the step before are not in it."""
    return {"name": name, "detail": MEANINGS[name], "values": dict(values), "lost": list(lost)}


def _sums(units: Units, marks: Marks) -> dict[str, int]:
    sums = {name: int(amounts[marks].sum(dtype=np.int64)) for name, amounts in units.amounts.items()}
    return {"rows": int(marks.sum()), **sums}


def _reasons(frame: Frame, units: Units, lost: Marks) -> list[dict[str, Any]]:
    """The amounts that rules of each reason are the first to drop; rules of several lists may have one reason."""
    found: dict[str, dict[str, int]] = {}
    first, names = frame.first[lost], frame.rules.reasons
    amounts = {name: np.bincount(first, of[lost], len(names)) for name, of in units.amounts.items()}
    for number, count in enumerate(np.bincount(first, minlength=len(names)).tolist()):
        own = found.setdefault(names[number], dict.fromkeys(("rows", *units.amounts), 0))
        own["rows"] += count
        for name, sums in amounts.items():
            own[name] += int(sums[number])
    ordered = sorted(found.items(), key=lambda one: (-one[1]["rows"], one[0]))
    return [{"reason": name, "rows": own["rows"], "values": own} for name, own in ordered if own["rows"]]


def _counts(counts: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    ordered = sorted(counts, key=lambda one: (-one[1], one[0]))
    return [{"reason": name, "rows": count} for name, count in ordered if count]


VIEW = View(answer)
