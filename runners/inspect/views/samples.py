"""A page of samples: of a source, a language, a reason or a range of a measure, or with a text in them."""

import json

import numpy as np

from winnow.runners.inspect.asking import number_of, switch_of, text_of
from winnow.runners.inspect.choosing import Filter, checked_filter, chosen_rows
from winnow.runners.inspect.frame import Frame, Marks, Rows, frame_of
from winnow.runners.inspect.listing import PAGE, nearest_page, ordered_page, shown_rows, spread_page
from winnow.runners.inspect.media_shown import first_media, rows_with_media
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.searching import TextSearch
from winnow.runners.inspect.view import Answer, Asked, AskedError, View
from winnow.schemas.identity import Json
from winnow.schemas.rules.conditions import Cut, cuts_of

_MOST = 100
_MOST_CHARACTERS = 1000


def _answer(opened: Opened, asked: Asked) -> Answer:
    """Asked: `filter`, `page`, `size`, `order`; `pictures`: only samples with pictures or videos, and of each how
    many it has and what is shown of the first."""
    frame, pictures = frame_of(opened), switch_of(asked, "pictures", otherwise=False)
    found = _listed(opened, frame, asked, pictures=pictures)
    if pictures:
        rows = found["rows"]
        media = first_media(opened, frame, np.array([row["row"] for row in rows], np.int64))
        found = {**found, "rows": [row | one for row, one in zip(rows, media, strict=True)]}
    return {**found, "undecided": frame.why_no_rules}


def _listed(opened: Opened, frame: Frame, asked: Asked, *, pictures: bool) -> Answer:
    page, size = number_of(asked, "page", 0), number_of(asked, "size", PAGE, 1, _MOST)
    wanted = checked_filter(asked.get("filter"))
    marks = chosen_rows(opened, frame, wanted)
    if pictures:
        marks &= rows_with_media(opened, frame)
    order = text_of(asked, "order", "spread") or "spread"
    if wanted.get("text"):
        return _with_text(opened, frame, marks, {**wanted, "pictures": pictures}, page, size)
    total = int(marks.sum())
    if order == "edge":
        cut = _cut(frame, asked.get("near", wanted.get("reason")), asked.get("cut", 0), text_of(asked, "list", ""))
        rows, values, limits = nearest_page(opened, frame, marks, cut, page, size)
        shown = shown_rows(opened, frame, rows.tolist())
        beside = zip(shown, values, limits, strict=True)
        rows_shown: list[dict[str, Json]] = [
            row | {"column": cut.column, "op": cut.operator, "value": value, "limit": limit}
            for row, value, limit in beside
        ]
        return {"total": total, "rows": rows_shown, "page": page, "size": size}
    rows = _page(opened, frame, marks, order, page, size)
    return {"total": total, "rows": shown_rows(opened, frame, rows.tolist()), "page": page, "size": size}


def _with_text(opened: Opened, frame: Frame, marks: Marks, wanted: Filter, page: int, size: int) -> Answer:
    """The samples with a text in them, as far as this request has read; `total` is null until all are read."""
    text = wanted["text"]
    if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
        raise AskedError(f"filter.text: expected a text of at most {_MOST_CHARACTERS} characters")
    key = "search", json.dumps(wanted, sort_keys=True)
    search = opened.kept.get(key, lambda: TextSearch(text, marks))
    search.read_on(opened, frame, (page + 1) * size)
    ended, found = search.ended(frame), search.found
    return {
        "total": len(found) if ended else None,
        "found": len(found),
        "rows_read": frame.rows if ended else int(frame.starts[search.shard]) + search.row,
        "rows_in_all": frame.rows,
        "rows": shown_rows(opened, frame, found[page * size : (page + 1) * size]),
        "page": page,
        "size": size,
    }


def _page(opened: Opened, frame: Frame, marks: Marks, order: str, page: int, size: int) -> Rows:
    if order[0] in "+-":
        return ordered_page(opened, frame, marks, order[1:], page, size, descending=order[0] == "-")
    if order != "spread":
        raise AskedError(f"order: expected spread, edge, +COLUMN or -COLUMN, found {order!r}")
    return spread_page(marks, page, size)


def _cut(frame: Frame, reason: object, number: object, phase: str) -> Cut:
    """A threshold of the rule with a reason; `phase`: of which list, as rules of several may have one reason."""
    if not isinstance(reason, str):
        raise AskedError("order: edge needs a reason, in the filter or as `near`, whose threshold is meant")
    rules = [frame.rules.rules[at] for at in frame.numbered(reason)]
    cuts = [cut for one in rules if phase in ("", one.phase) for cut in cuts_of(one.rule.drop)]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(cuts):
        raise AskedError(f"cut: {reason} has {len(cuts)} thresholds, counted from 0, not {number!r}")
    return cuts[number]


VIEW = View(_answer)
