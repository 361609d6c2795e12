"""The facts about one row that `winnow duplicates show` prints: its clusters, their members, and a text compared
with it."""

from collections.abc import Mapping
from dataclasses import dataclass

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.cluster_counts import Membership
from winnow.pipelines.query.duplicates import Member, Members
from winnow.pipelines.query.find_sample import Place
from winnow.runners.stages.duplicates.excerpts import reference
from winnow.runners.stages.duplicates.text_difference import Difference, Words
from winnow.runners.stages.rule_decisions import DuplicateDrops
from winnow.schemas.identity import Json
from winnow.schemas.rows.duplicates import Kind


@dataclass(frozen=True)
class Resemblance:
    """How alike two texts are."""

    shared: int  # shingles in both texts
    together: int  # shingles in either text
    scheme: str
    assumed: bool  # whether the scheme is the default one, as no recipe names another

    @property
    def jaccard(self) -> float | None:
        """The Jaccard similarity; None if neither text has a shingle."""
        return self.shared / self.together if self.together else None


@dataclass(frozen=True)
class Pair:
    """A row and the row it is compared with."""

    left: Place
    right: Place
    matched: str | None  # the kind of duplicate; None if the user chose the pair
    similarity: float | None  # as recorded in the layer
    by: str | None  # how it was determined
    resemblance: Resemblance | None  # None if one has no text
    difference: Difference | None  # None if a text is not shown


@dataclass(frozen=True)
class RowDuplicates:
    """Everything shown about one row."""

    place: Place
    memberships: tuple[Membership, ...]
    members: tuple[Members | None, ...]  # of each membership
    pair: Pair | None
    unpaired: str | None  # why there is no pair
    stale: Mapping[Kind, bool | None]  # whether the recipe would now compute a kind's layer differently
    drops: DuplicateDrops  # which members the plan drops as duplicates


def row_duplicates_json(found: RowDuplicates) -> dict[str, Json]:
    """Everything, for `--json`."""
    return {
        "id": found.place.id,
        "clusters": {
            kind: {"items": one} if find_kind(kind).unit.of_items else one[0]
            for kind, one in _clusters_json(found).items()
        },
        "decided": found.drops.reasons is not None,
        "not_decided": found.drops.undecided,
        "compared": None if found.pair is None else _pair_json(found.pair),
        "not_compared": found.unpaired,
    }


def _clusters_json(found: RowDuplicates) -> dict[Kind, list[dict[str, Json]]]:
    """Each kind's clusters of the row, or of each of its items."""
    by_kind: dict[Kind, list[dict[str, Json]]] = {}
    for membership, members in zip(found.memberships, found.members, strict=True):
        one = {**_membership_json(membership, members, found.drops), "stale": found.stale[membership.kind]}
        by_kind.setdefault(membership.kind, []).append(
            one if not find_kind(membership.kind).unit.of_items else {"item": membership.item, **one}
        )
    return by_kind


def _membership_json(membership: Membership, members: Members | None, dropped: DuplicateDrops) -> dict[str, Json]:
    return {
        "status": membership.status,
        "cluster": membership.cluster,
        "rows": membership.rows,
        "texts": membership.texts,
        "similarity": membership.similarity,
        "matched": membership.matched,
        "by": membership.by,
        "found": None if members is None else members.found,
        "members": [] if members is None else [member_json(one, dropped) for one in members.shown],
        "not_listed": 0 if members is None else members.found - len(members.shown),
    }


def member_json(member: Member, dropped: DuplicateDrops) -> dict[str, Json]:
    """A row of a cluster, or an item, and whether the plan drops it as a duplicate."""
    return {
        "id": member.place.id,
        **({} if member.item is None else {"item": member.item, **_facts_json(member)}),
        "source": member.source,
        "url": member.url,
        "language": member.language,
        "characters": member.characters,
        "similarity": member.similarity,
        "matched": member.matched,
        "by": member.by,
        "names_cluster": member.names_cluster,
        "goes": (dropped.reasons or {}).get(member.place.id),
        "duplicate_of": dropped.stays.get(member.place.id),
    }


def _facts_json(member: Member) -> dict[str, Json]:
    names = ("mime", "bytes", "width", "height", "sha256")
    return {**{name: member.facts.get(name) for name in names}, "reference": reference(member.facts)}


def _pair_json(pair: Pair) -> dict[str, Json]:
    alike, where = pair.resemblance, pair.difference
    return {
        "left": pair.left.id,
        "right": pair.right.id,
        "matched": pair.matched,
        "similarity": pair.similarity,
        "by": pair.by,
        "jaccard": None if alike is None else alike.jaccard,
        "shared_shingles": None if alike is None else alike.shared,
        "shingles": None if alike is None else alike.together,
        "scheme": None if alike is None else alike.scheme,
        "scheme_assumed": None if alike is None else alike.assumed,
        "difference": None
        if where is None
        else {
            "characters": list(where.whole),
            "compared": list(where.compared),
            "coarse": where.coarse,
            "runs": [{"same": run.same, "left": _joined(run.left), "right": _joined(run.right)} for run in where.runs],
        },
    }


def _joined(words: Words) -> str:
    return "".join(word.after + word.text for word in words).lstrip()
