"""What changed rules would keep: by language and source, with samples that cross the line."""

import numpy as np
from numpy.typing import NDArray

from winnow.runners.inspect.changes import ChangedRecipe, changed_recipe
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.counting import counts_of
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.listing import nearest_page, shown_rows, spread_page
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.simulation import Simulation, simulated
from winnow.runners.inspect.view import Answer, Asked, AskedError, View
from winnow.schemas.identity import Json
from winnow.schemas.rules.conditions import Cut

_SAMPLES, _MOST_SAMPLES = 5, 50


def _answer(opened: Opened, asked: Asked) -> Answer:
    changed = changed_recipe(opened, asked.get("changes"))
    most = asked.get("samples", _SAMPLES)
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= _MOST_SAMPLES:
        raise AskedError(f"samples: expected 0 to {_MOST_SAMPLES}, found {most!r}")
    found = simulated(opened, changed, settle=asked.get("settle") is True)
    frame = found.frame
    among = chosen_rows(opened, frame, asked["filter"]) if asked.get("filter") else None
    before, after = frame.kept, found.kept
    dropped, gained = found.dropped_now, found.kept_now
    if among is not None:
        before, after, dropped, gained = (marks & among for marks in (before, after, dropped, gained))
    return {
        "exact": found.exact,
        "kept": {"before": _amount(frame, before), "after": _amount(frame, after)},
        "by_language": _by(frame.language, frame.languages, "code", before, after),
        "by_source": _by(frame.source, frame.sources, "name", before, after),
        "dropped_now": int(dropped.sum()),
        "kept_now": int(gained.sum()),
        "samples": {
            "dropped": _samples(opened, found, changed, dropped, most),
            "kept": _samples(opened, found, changed, gained, most),
        },
    }


def _amount(frame: Frame, marks: Marks) -> dict[str, Json]:
    return {"rows": int(marks.sum()), "bytes": int(frame.size[marks].sum())}


def _by(
    codes: NDArray[np.uint16], names: tuple[str, ...], what: str, before: Marks, after: Marks
) -> list[dict[str, Json]]:
    """The rows of each group that has any, the largest first."""
    state = before.view(np.uint8) + np.uint8(2) * after.view(np.uint8)
    counts = counts_of(codes, len(names), state, 4)
    was, now = counts[:, 1] + counts[:, 3], counts[:, 2] + counts[:, 3]
    order = sorted(range(len(names)), key=lambda at: (-max(was[at], now[at]), names[at]))
    return [{what: names[at], "before": int(was[at]), "after": int(now[at])} for at in order if was[at] or now[at]]


def _samples(
    opened: Opened, found: Simulation, changed: ChangedRecipe, marks: Marks, most: int
) -> list[dict[str, Json]]:
    """Some of the rows that cross the line; where one threshold has moved, those nearest to it."""
    if not most or not marks.any():
        return []
    if len(changed.moved) == 1 and changed.moved[0].cut.column in opened.tables.columns:
        one = changed.moved[0]
        rows, values, _ = nearest_page(
            opened, found.frame, marks, Cut(one.cut.column, one.cut.operator, one.limit), 0, most
        )
        shown = shown_rows(opened, found.frame, rows.tolist())
        return [row | {"value": value} for row, value in zip(shown, values, strict=True)]
    return shown_rows(opened, found.frame, spread_page(marks, 0, most).tolist())


VIEW = View(_answer)
