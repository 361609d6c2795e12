"""The sites of a store: how many rows each has, what of it is kept, which rules drop most, and its duplicates."""

from collections.abc import Mapping
from typing import Any, Final

from winnow.runners.inspect.asking import choice_of, number_of, switch_of, text_of
from winnow.runners.inspect.cells import KEPT, Cells, cells, cells_where
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View

PAGE: Final = 50
SHOWN_REASONS: Final = 3

_ORDERS: Final = {
    "rows": "rows",
    "kept": "kept",
    "dropped": "rows - kept",
    "share": "kept / rows",
    "bytes": "bytes",
    "within": "within",
    "across": "across",
    "domain": "domain",
}


def answer(opened: Opened, asked: Asked) -> Answer:
    """A page of sites.

    Asked: `filter` (source, language, reason, kept, domain), `find` (a part of a site's name), `order` and
    `descending`, `page`, and `kind` of duplicates. Rows of files without addresses are one site without a name.
    Duplicates are those of all rows, whatever the filter: rows whose cluster has another row of the same site
    (`within`), or a row of another one (`across`).
    """
    found = cells(opened)
    page = number_of(asked, "page", 0)
    order = choice_of(asked, "order", tuple(_ORDERS), "rows")
    downwards = "DESC" if switch_of(asked, "descending", otherwise=order != "domain") else "ASC"
    kind = choice_of(asked, "kind", found.kinds, found.kinds[-1]) if found.kinds else ""
    condition, values = cells_where(found, asked.get("filter"), text_of(asked, "find", ""))
    sites = f"""
        WITH sites AS (
            SELECT domain, sum(rows)::BIGINT AS rows, coalesce(sum(rows) FILTER (first = {KEPT}), 0)::BIGINT AS kept,
                sum(bytes)::BIGINT AS bytes
            FROM cells WHERE {condition} GROUP BY domain
        )"""
    (whole,) = found.select(
        f"""{sites} SELECT count(*) AS sites, coalesce(sum(rows), 0)::BIGINT AS rows,
            coalesce(sum(kept), 0)::BIGINT AS kept, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM sites""",
        values,
    )
    rows = found.select(
        f"""{sites}, listed AS (
            SELECT sites.*, coalesce(within, 0) AS within, coalesce(across, 0) AS across FROM sites
            LEFT JOIN (FROM shared WHERE kind = ?) AS shared ON shared.domain IS NOT DISTINCT FROM sites.domain
        )
        SELECT * FROM listed ORDER BY {_ORDERS[order]} {downwards} NULLS LAST, rows DESC, domain NULLS LAST
        LIMIT {PAGE} OFFSET {PAGE * page}""",
        [*values, kind],
    )
    decided = found.decided.undecided is None
    reasons = _reasons(found, [row["domain"] for row in rows], condition, values) if decided else {}
    return {
        "undecided": found.decided.undecided,
        "bytes_of": found.decided.pinned.bytes_of,
        "kinds": list(found.kinds),
        "kind": kind or None,
        "page": page,
        "pages": -(-whole["sites"] // PAGE),
        "whole": _known(whole, decided=decided),
        "rows": [_known(row, decided=decided) | {"reasons": reasons.get(row["domain"], [])} for row in rows],
    }


def _known(row: Mapping[str, Any], *, decided: bool) -> dict[str, Any]:
    """A site, without what is kept of it if that is not known."""
    return {**row, "kept": row["kept"] if decided else None}


def _reasons(found: Cells, domains: list[str | None], condition: str, values: list[Any]) -> dict[str | None, list[Any]]:
    """The reasons for which most of each site is dropped."""
    counted = found.select(
        f"""SELECT domain, first, sum(rows)::BIGINT AS rows FROM cells
        WHERE {condition} AND first <> {KEPT} AND (list_contains(?, domain) OR (? AND domain IS NULL))
        GROUP BY ALL ORDER BY rows DESC, first""",
        [*values, [one for one in domains if one is not None], None in domains],
    )
    by_domain: dict[str | None, list[Any]] = {}
    for row in counted:
        of = by_domain.setdefault(row["domain"], [])
        if len(of) < SHOWN_REASONS:
            of.append({"reason": found.decided.reasons[row["first"]], "rows": row["rows"]})
    return by_domain


VIEW = View(answer)
