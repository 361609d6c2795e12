"""One cluster of duplicates: its members beside the row that stays, word by word, and why that one stays."""

from collections.abc import Iterator
from typing import Any, Final

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.duplicates import Member
from winnow.pipelines.query.find_sample import Place
from winnow.runners.inspect.asking import number_of, text_of
from winnow.runners.inspect.clusters_shown import ShownClusters
from winnow.runners.inspect.frame import Frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.runners.inspect.why_kept import why_kept
from winnow.runners.stages.duplicates.row_duplicates import member_json
from winnow.runners.stages.duplicates.text_difference import Difference, Words, difference

MOST: Final = 20
FOLDED: Final = 60  # equal words in a row, of which only the ends are shown
ENDS: Final = 20
MOST_WORDS: Final = 2_000  # that are shown of one comparison


def answer(opened: Opened, asked: Asked) -> Answer:
    """The members of a cluster.

    Asked: `kind`, and `id`: that of the cluster, or the id or URL of one of its rows; `most` members. Of texts each
    member has `pieces`, in order: words that it shares with the row `beside` it (`same`), words of that row (`left`)
    that it replaces by others (`right`), and equal words that are left out (`folded`, their number). That row is the
    one that stays, or the first if none is known to.
    """
    shown, frame = ShownClusters.of(opened, asked), frame_of(opened)
    membership = shown.membership(text_of(asked, "id"))
    members = shown.browser.members(membership, number_of(asked, "most", MOST, 1, 200))
    rows = [shown.place_of_row(one.place) for one in members.shown]
    drops = shown.drops(rows)
    kept = shown.representative(rows)
    lost = [] if kept is None else [row for row in rows if row.id != kept.id == shown.stays(row).id]
    shown_first = kept or rows[0]
    texts = not find_kind(shown.kind).unit.of_items
    representative = shown.excerpts.shown(shown_first) if texts else None
    return {
        "kind": shown.kind,
        "id": shown.seen(membership.cluster) or members.shown[0].id,
        "counted": find_kind(shown.kind).counted,
        "of_items": not texts,
        "rows": membership.rows,
        "texts": membership.texts,
        "found": members.found,
        "forgotten": (membership.rows or 0) - members.found,
        "kept": None if kept is None else kept.id,
        "beside": shown_first.id,
        "undecided": drops.undecided,
        "why": why_kept(frame, kept, lost),
        "members": [
            member_json(one, drops)
            | _decided(frame, row)
            | {"matched": shown.seen(one.matched)}
            | _compared(shown, one, row, shown_first, representative)
            for one, row in zip(members.shown, rows, strict=True)
        ],
    }


def _decided(frame: Frame, row: Place) -> dict[str, Any]:
    """Whether the row is kept, whatever rule drops it, and the first rule that does; None where nothing is decided."""
    first = int(frame.first[frame.row(row.shard.shard, row.row)])
    if frame.why_no_rules is not None:
        return {"kept": None, "first": None}
    return {"kept": first < 0, "first": None if first < 0 else frame.rules.all_reasons[first]}


def _compared(
    shown: ShownClusters, member: Member, row: Place, beside: Place, representative: str | None
) -> dict[str, Any]:
    """A member's text beside that of the row that stays; of media, what the page can ask pictures of."""
    if find_kind(shown.kind).unit.of_items:
        return {"row": row.id, "item": member.item}
    text = shown.excerpts.shown(row)
    if text is None or representative is None:
        return {"pieces": None, "equal": None}
    found = difference(representative, text)
    return {
        "pieces": list(_pieces(found)),
        "equal": row.id == beside.id or found.same,
        "coarse": found.coarse,
        "compared": list(found.compared),
        "whole": list(found.whole),
    }


def _pieces(found: Difference) -> Iterator[dict[str, Any]]:
    """The runs of a difference, with long equal ones folded, up to a number of words."""
    left = MOST_WORDS
    for number, run in enumerate(found.runs):
        if not run.same:
            words = run.left[:left], run.right[:left]
            yield {"left": written(words[0]), "right": written(words[1])}
            left -= max(map(len, words))
        elif len(run.right) > FOLDED:
            first, last = number == 0, number == len(found.runs) - 1
            head, tail = (0 if first and not last else ENDS), (0 if last and not first else ENDS)
            if head:
                yield {"same": written(run.right[:head])}
            yield {"folded": len(run.right) - head - tail}
            if tail:
                yield {"same": written(run.right[-tail:])}
            left -= head + tail
        else:
            yield {"same": written(run.right)}
            left -= len(run.right)
        if left <= 0:
            yield {"folded": sum(len(one.right) for one in found.runs[number + 1 :])}
            return


def written(words: Words) -> str:
    """Words, with what comes before each."""
    return "".join(word.after + word.text for word in words)


VIEW = View(answer)
