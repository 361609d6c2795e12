"""The rules of the recipe: what each drops, and the thresholds that can be moved."""

import numpy as np

from winnow.runners.inspect.counting import bits_by_code, counts_of
from winnow.runners.inspect.dimensions import rule_numbers
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.simulation import decided_frame
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.rules.conditions import cuts_of

_MOST_KEYS = 200


def _answer(opened: Opened, _: Asked) -> Answer:
    frame = decided_frame(opened)
    rules, columns = frame.rules, opened.tables.columns
    reasons, bits = rule_numbers(opened, frame), len(rules.rules) + 1
    first = counts_of(reasons.codes, len(reasons.labels), frame.kept.view(np.uint8), 2).sum(axis=1).tolist()
    fires = bits_by_code(frame.source, len(frame.sources), frame.fired, bits, frame.seen).sum(axis=0).tolist()
    seen = int(frame.seen.sum())
    return {
        "rules": [
            {
                "reason": one.rule.reason,
                "list": one.phase,
                "condition": one.rule.drop,
                "when_null": one.rule.when_null,
                "preset": one.preset,
                "fires": fires[number],
                "first": first[number],
                "cuts": [
                    {
                        "id": at,
                        "column": cut.column,
                        "op": cut.operator,
                        "value": cut.value,
                        "table": cut.table or None,
                        "key": _key(frame, cut.table),
                        "by_language": cut.value is None,
                        "limits": _limits(frame, cut.table),
                    }
                    for at, cut in enumerate(cuts_of(one.rule.drop))
                    if cut.column in columns
                ]
                if one.phase != "dedupe"
                else [],
            }
            for number, one in enumerate(rules.rules)
        ],
        "rows": seen,
        "kept": int(frame.kept.sum()),
        "bytes": int(frame.size[frame.seen].sum()),
        "kept_bytes": int(frame.size[frame.kept].sum()),
        "bytes_of": frame.pinned.bytes_of,
        "has_duplicates": rules.choice is not None,
    }


def _key(frame: Frame, name: str) -> str | None:
    """The column whose values are the keys of a table of thresholds; None for a number."""
    return next((one.key for one in frame.rules.tables if name.startswith(f"thresholds.{one.name}.")), None)


def _limits(frame: Frame, name: str) -> dict[str, float] | None:
    """The thresholds of a table for the languages that the store has, or the first of other keys; None for a number."""
    if not name:
        return None
    _, table, column = name.split(".", 2)
    found = next(one for one in frame.rules.tables if one.name == table)
    cells = [(key, value) for key, value in zip(found.keys, found.columns[column], strict=True) if value is not None]
    there = [(key, value) for key, value in cells if key in set(frame.languages)]
    return dict(there or cells[:_MOST_KEYS])


VIEW = View(_answer)
