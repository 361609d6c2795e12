"""Clusters of duplicates by size, each with the row that stays, and the alarms that losses to duplicates raise."""

import re
from dataclasses import asdict
from typing import Any, Final

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.cluster_counts import BIN_NAMES, Cluster
from winnow.runners.facts.duplicates import KINDS, remarks
from winnow.runners.inspect.asking import choice_of, number_of, text_of
from winnow.runners.inspect.clusters_shown import MOST, ShownClusters
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import rules_summary
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.runners.stages.duplicates.clusters import beginning, cluster_json
from winnow.runners.tables.table import table

PAGE: Final = 20

_DIGITS = re.compile(r"[0-9a-fA-F]+")


def answer(opened: Opened, asked: Asked) -> Answer:
    """A page of the clusters of one kind.

    Asked: `kind`, `page`, `size`, the name of a bin of sizes whose clusters alone are listed, and `find`: the beginning
    of a cluster's id, or the id or URL of a row, whose cluster is shown. Near duplicates are ordered by different
    texts, then by rows; other kinds by rows.
    """
    shown = ShownClusters.of(opened, asked)
    page, find = number_of(asked, "page", 0), text_of(asked, "find", "").strip()
    of_size = choice_of(asked, "size", BIN_NAMES[1:], "") if asked.get("size", "") != "" else ""
    largest = shown.largest("" if find else of_size)
    if find:
        listed = [one for one in largest if _DIGITS.fullmatch(find) and one.id.startswith(find.lower())]
        if not listed:
            one = shown.membership(find)
            listed = [Cluster(one.cluster or "", one.rows or 0, one.texts)]
    else:
        listed = largest
    overview = shown.heads.overview(shown.kind, ())
    sizes = dict(zip(BIN_NAMES, overview.sizes, strict=True))
    rows = shown.described(listed[PAGE * page : PAGE * (page + 1)])
    rules, is_decided = rules_summary(opened), frame_of(opened).why_no_rules is None
    stale = shown.browser.stale(opened.recipe)[shown.kind]
    return {
        "kinds": list(shown.browser.kinds),
        "kind": shown.kind,
        "counted": find_kind(shown.kind).counted,  # the key under which a cluster says how much of it is different
        "of_items": find_kind(shown.kind).unit.of_items,
        "summary": table("", KINDS, [overview]).to_json()[0] | {"stale": stale},
        "sizes": sizes,
        "size": of_size,
        "alarms": [] if rules is None else [asdict(one) for one in rules.alarms],
        "remarks": [
            *remarks([overview]),
            *(["Whether too much is dropped is known after winnow plan."] if rules is None and is_decided else []),
        ],
        "page": page,
        "pages": -(-len(listed) // PAGE),
        "total": len(listed) if find else sizes.get(of_size, overview.clusters),
        "listed": min(MOST, len(listed)),
        "rows": [_row(shown, one) for one in rows if one.examples],  # of others, all rows are forgotten
    }


def _row(shown: ShownClusters, cluster: Cluster) -> dict[str, Any]:
    """A cluster, and which row of it stays."""
    rows = [shown.place_of_row(place) for place in cluster.examples]
    kept = shown.representative(rows)  # None, too, if neither of the two is eligible, and another row may be
    told: dict[str, Any] = {**cluster_json(cluster, shown.kind, shown.excerpts)}
    text = None if kept is None or find_kind(shown.kind).unit.of_items else beginning(shown.excerpts.shown(kept))
    return {
        **told,
        "examples": [
            one | {"row": row.id, "item": shown.item_of(place, row)}
            for one, place, row in zip(told["examples"], cluster.examples, rows, strict=True)
        ],
        "cluster": cluster.examples[0].id,  # the cluster's own, but where the row that names it is forgotten
        "names": [place.id for place in cluster.examples],
        "kept": None if kept is None else kept.id,
        "undecided": frame_of(shown.opened).why_no_rules,
        "text": text,
    }


VIEW = View(answer)
