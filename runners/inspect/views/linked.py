"""Charts of sources, languages, reasons, domains, days and measures, each under the choices made in the others."""

from winnow.runners.inspect.asking import number_of
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.dimensions import BINS, MOST_BINS, dimension_of
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.linking import Linked, chosen_codes, linked
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, AskedError, View
from winnow.schemas.identity import Json

_MOST_DIMENSIONS = 24
_MOST_LABELS = 1_000


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = frame_of(opened)
    wanted, filters = asked.get("dimensions", []), asked.get("filters") or {}
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        raise AskedError('dimensions: expected a list of objects such as {"column": "language"}')
    if not isinstance(filters, dict):
        raise AskedError("filters: expected an object of choices by column")
    bins = {_column(one): _bins(one) for one in wanted} | {
        name: BINS for name in filters if name not in map(_column, wanted)
    }
    if len(bins) > _MOST_DIMENSIONS:
        raise AskedError(f"dimensions: at most {_MOST_DIMENSIONS}")
    dimensions = {
        name: dimension_of(opened, frame, name, number, _texts(filters.get(name))) for name, number in bins.items()
    }
    choices = {name: chosen_codes(dimensions[name], choice) for name, choice in filters.items() if choice is not None}
    among = chosen_rows(opened, frame, asked["filter"]) if asked.get("filter") else None
    found, (dropped, kept) = linked(frame, list(dimensions.values()), choices, among)
    shown = {_column(one) for one in wanted}
    return {
        "rows": int(dropped + kept),
        "kept": None if frame.why_no_rules else int(kept),
        "undecided": frame.why_no_rules,
        "dimensions": [_chart(one, is_decided=not frame.why_no_rules) for one in found if one.dimension.name in shown],
    }


def _texts(choice: object) -> list[str]:
    """The labels of a choice, which a chart of texts has among the most frequent ones."""
    labels = choice if isinstance(choice, list) else []
    if len(labels) > _MOST_LABELS:
        raise AskedError(f"filters: expected at most {_MOST_LABELS:,} labels of a chart")
    return [label for label in labels if isinstance(label, str)]


def _column(one: dict[str, object]) -> str:
    name = one.get("column")
    if not isinstance(name, str) or not name:
        raise AskedError(f"dimensions: column: expected a name, found {name!r}")
    return name


def _bins(one: dict[str, object]) -> int:
    return number_of(one, "bins", BINS, 1, MOST_BINS)


def _chart(one: Linked, *, is_decided: bool) -> dict[str, Json]:
    """The groups of a chart: bins in their order, and labels with the most rows first."""
    dimension = one.dimension
    groups = range(len(dimension.labels))
    named: list[dict[str, Json]] = [
        {
            "label": dimension.labels[code],
            "edge": dimension.edges[code] if code < len(dimension.edges) - 1 else None,
            "rows": int(one.rows[code]),
            "kept": int(one.kept[code]) if is_decided else None,
            "chosen": one.chosen is None or bool(one.chosen[code]),
        }
        for code in groups
        if one.rows[code] or dimension.edges or (one.chosen is not None and one.chosen[code])
    ]
    if not dimension.edges and dimension.name != "day":
        named.sort(key=lambda group: (-int(str(group["rows"])), str(group["label"])))
    return {
        "column": dimension.name,
        "groups": named,
        "edges": list(dimension.edges) or None,
        "ends": None if dimension.ends is None else list(dimension.ends),
    }


VIEW = View(_answer)
