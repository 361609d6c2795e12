"""What changed rules would keep: by language and source, with samples that cross the line."""

from winnow.runners.inspect.asking import number_of, text_of
from winnow.runners.inspect.choosing import checked_filter, chosen_rows
from winnow.runners.inspect.frame import Frame, Marks, Rows
from winnow.runners.inspect.listing import nearest_page, shown_rows, spread_page
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.changes import ChangedRecipe, changed_recipe
from winnow.runners.inspect.trials.effects import Amounts, effect_of
from winnow.runners.inspect.trials.simulation import Simulation, decided_frame, simulated, slider_of, weights_of
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.identity import Json
from winnow.schemas.rules.conditions import Cut

_SAMPLES, _MOST_SAMPLES = 5, 50
_SIDES = ("dropped", "kept")


def _answer(opened: Opened, asked: Asked) -> Answer:
    changed = changed_recipe(opened, asked.get("changes"))
    most = number_of(asked, "samples", _SAMPLES, most=_MOST_SAMPLES)
    wanted, frame = checked_filter(asked.get("filter")), decided_frame(opened)
    unit = text_of(asked, "unit", "bytes")
    slider = slider_of(opened, changed, wanted, lambda: chosen_rows(opened, frame, wanted), unit)
    if slider is not None:
        exact, place = True, slider.place(opened, frame, changed.moved[0].limit)
        effect = slider.effect(place)
        samples = {
            side: _beside(opened, frame, *slider.crossing(place, most, dropped=side == "dropped")) for side in _SIDES
        }
    else:
        found = simulated(opened, changed, settle=asked.get("settle") is True)
        among = chosen_rows(opened, frame, wanted) if wanted else None
        exact = found.exact
        effect = effect_of(frame, found.kept, among, weights_of(opened, frame, unit))
        samples = {side: _crossing(opened, found, changed, among, most, side) for side in _SIDES}
    return {
        "exact": exact,
        "unit": unit,
        "kept": {
            name: {"rows": side.rows, unit: side.amount}
            for name, side in (("before", effect.before), ("after", effect.after))
        },
        "by_language": _by("code", frame.languages, effect.before.by_language, effect.after.by_language),
        "by_source": _by("name", frame.sources, effect.before.by_source, effect.after.by_source),
        "dropped_now": effect.dropped_now,
        "kept_now": effect.kept_now,
        "samples": samples,
    }


def _by(what: str, names: tuple[str, ...], was: Amounts, now: Amounts) -> list[dict[str, Json]]:
    """The rows of each group that has any, the largest first, and their amount."""
    order = sorted(range(len(names)), key=lambda at: (-max(was[at, 0], now[at, 0]), names[at]))
    return [
        {
            what: names[at],
            "before": int(was[at, 0]),
            "after": int(now[at, 0]),
            "amount_before": int(was[at, 1]),
            "amount_after": int(now[at, 1]),
        }
        for at in order
        if was[at, 0] or now[at, 0]
    ]


def _crossing(
    opened: Opened, found: Simulation, changed: ChangedRecipe, among: Marks | None, most: int, side: str
) -> list[dict[str, Json]]:
    """Some of the rows that are dropped, or kept, now; where one threshold has moved, those nearest to it."""
    if not most:
        return []
    frame = found.frame
    marks = found.dropped_now if side == "dropped" else found.kept_now
    marks = marks if among is None else marks & among
    if not marks.any():
        return []
    if len(changed.moved) == 1 and changed.moved[0].cut.column in opened.tables.columns:
        one = changed.moved[0]
        cut = Cut(one.cut.column, one.cut.operator, one.limit)
        rows, values, _ = nearest_page(opened, frame, marks, cut, 0, most)
        return _beside(opened, frame, rows, values)
    return shown_rows(opened, frame, spread_page(marks, 0, most).tolist())


def _beside(opened: Opened, frame: Frame, rows: Rows, values: list[float]) -> list[dict[str, Json]]:
    shown = shown_rows(opened, frame, rows.tolist())
    return [row | {"value": value} for row, value in zip(shown, values, strict=True)]


VIEW = View(_answer)
