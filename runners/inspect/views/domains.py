"""The sites of a store: how many rows each has, what of it is kept, which rules drop most, and its duplicates."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.runners.inspect.asking import choice_of, number_of, switch_of, text_of
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.dimensions import DOMAIN, texts_of
from winnow.runners.inspect.frame import Frame, Marks, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.sites import kinds_shown, site_duplicates
from winnow.runners.inspect.view import Answer, Asked, View

PAGE: Final = 50
SHOWN_REASONS: Final = 3
ORDERS: Final = ("rows", "kept", "dropped", "share", "bytes", "within", "across", "domain")


def answer(opened: Opened, asked: Asked) -> Answer:
    """A page of sites.

    Asked: `filter`, `find` (a part of a site's name), `order` and `descending`, `page`, and `kind` of duplicates. Rows
    of files without addresses are one site without a name. Duplicates are those of all rows, whatever the filter: rows
    whose cluster has another row of the same site (`within`), or a row of another one (`across`).
    """
    frame = frame_of(opened)
    kinds = kinds_shown(opened)
    kind = choice_of(asked, "kind", kinds, kinds[-1]) if kinds else None
    order = choice_of(asked, "order", ORDERS, "rows")
    downwards, page = switch_of(asked, "descending", otherwise=order != "domain"), number_of(asked, "page", 0)
    marks = chosen_rows(opened, frame, asked.get("filter"))
    texts = texts_of(opened, frame, DOMAIN)
    codes = texts.codes + 1  # 0: without an address
    sites = len(texts.values) + 1

    def counted(some: Marks) -> NDArray[np.int64]:
        return np.bincount(codes[some], minlength=sites)

    amounts = {
        "rows": counted(marks),
        "kept": counted(marks & frame.kept),
        "bytes": np.bincount(codes[marks], frame.size[marks], sites).astype(np.int64),
    }
    if kind is not None:
        found = site_duplicates(opened, frame, kind)
        amounts |= {"within": found.within, "across": found.across}
    else:
        amounts |= {"within": np.zeros(sites, np.int64), "across": np.zeros(sites, np.int64)}
    there = amounts["rows"] > 0
    if find := text_of(asked, "find", ""):
        named = pc.match_substring(texts.values, find, ignore_case=True).to_numpy(zero_copy_only=False)
        there &= np.append(False, named)
    listed = np.flatnonzero(there)
    ranked = _ranked(order, {name: values[listed] for name, values in amounts.items()}, downwards=downwards)
    if ranked is None:
        ranked = _by_name(texts.values, listed, downwards=downwards)
    shown = listed[ranked][PAGE * page : PAGE * (page + 1)]
    reasons = _reasons(frame, codes, marks, shown)
    decided = frame.why_no_rules is None
    return {
        "undecided": frame.why_no_rules,
        "bytes_of": frame.pinned.bytes_of,
        "kinds": list(kinds),
        "kind": kind,
        "page": page,
        "pages": -(-len(listed) // PAGE),
        "whole": {"sites": len(listed)}
        | {
            name: int(amounts[name][listed].sum()) if decided or name != "kept" else None
            for name in ("rows", "kept", "bytes")
        },
        "rows": [
            {
                "domain": None if site == 0 else texts.values[site - 1].as_py(),
                **{name: int(values[site]) for name, values in amounts.items() if decided or name != "kept"},
                **({} if decided else {"kept": None}),
                "reasons": reasons[place],
            }
            for place, site in enumerate(shown.tolist())
        ],
    }


def _ranked(order: str, amounts: dict[str, NDArray[np.int64]], *, downwards: bool) -> NDArray[np.int64] | None:
    """The order of sites by an amount, those with more rows first among equal ones; None for the order of names."""
    if order == "domain":
        return None
    keys = amounts["kept"] / amounts["rows"] if order == "share" else amounts.get(order)
    keys = amounts["rows"] - amounts["kept"] if keys is None else keys
    return np.lexsort((-amounts["rows"], -keys if downwards else keys))


def _by_name(names: pa.Array, listed: NDArray[np.int64], *, downwards: bool) -> NDArray[np.int64]:
    """The order of sites by their names; the one without a name, which is the first of those listed, is the last."""
    nameless = int((listed[:1] == 0).sum())
    order = pc.array_sort_indices(names.take(pa.array(listed[nameless:] - 1))).to_numpy().astype(np.int64) + nameless
    return np.concatenate([order[::-1] if downwards else order, np.arange(nameless)])


def _reasons(
    frame: Frame, codes: NDArray[np.int32], marks: Marks, shown: NDArray[np.int64]
) -> list[list[dict[str, Any]]]:
    """The reasons for which most of each of these sites is dropped."""
    places = np.full(int(codes.max(initial=0)) + 1, -1, np.int32)
    places[shown] = np.arange(len(shown), dtype=np.int32)
    dropped = np.flatnonzero(marks & (frame.first >= 0))
    of_site = places[codes[dropped]]
    there = of_site >= 0
    names = list(dict.fromkeys(frame.rules.reasons))  # rules of several lists may have one
    of_rule = np.array([names.index(reason) for reason in frame.rules.reasons], np.int64)
    rules = len(names)
    pairs = of_site[there].astype(np.int64) * rules + of_rule[frame.first[dropped[there]]]
    counts = np.bincount(pairs, minlength=len(shown) * rules).reshape(len(shown), rules)

    def most(own: NDArray[np.int64]) -> list[dict[str, Any]]:
        order = np.argsort(-own, kind="stable")[:SHOWN_REASONS].tolist()
        return [{"reason": names[rule], "rows": int(own[rule])} for rule in order if own[rule]]

    return [most(own) for own in counts]


VIEW = View(answer)
