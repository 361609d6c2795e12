"""Clusters of duplicates as views show them: the kinds that there are, the largest clusters, and which row stays."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.cluster_counts import Cluster, LargestClusters, Membership, bin_of
from winnow.pipelines.query.cluster_tasks import cluster_tasks
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.search_tasks import Wanted, search_tasks, single_match
from winnow.pipelines.reading.items import item_of_id
from winnow.pipelines.running.job_tasks import HERE
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import read_rows
from winnow.runners.inspect.asking import choice_of
from winnow.runners.inspect.finding import place_of, place_of_item
from winnow.runners.inspect.frame import Frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Asked, AskedError, UnavailableError
from winnow.runners.stages.duplicates.excerpts import Excerpts
from winnow.runners.stages.rule_decisions import DuplicateDrops, drops_of
from winnow.schemas.errors import StoreError, WinnowError
from winnow.schemas.rows.duplicates import OK, Kind

MOST: Final = 10_000
"""So many of the largest clusters of a kind, or of a bin of sizes, can be leafed through; any other is found by the id
or URL of a row."""

_HEAD_BYTES: Final = 300
_ID = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True)
class _Heads:
    """The largest clusters of a kind, by the rows that name them."""

    found: LargestClusters

    @property
    def nbytes(self) -> int:
        """About what they take."""
        return _HEAD_BYTES * len(self.found.kept)


@dataclass(frozen=True)
class ShownClusters:
    """The clusters of one kind."""

    opened: Opened
    excerpts: Excerpts
    kind: Kind

    @classmethod
    def of(cls, opened: Opened, asked: Asked) -> "ShownClusters":
        """Those of the kind that is asked for, else of the first; UnavailableError if no duplicates were searched."""
        excerpts = excerpts_of(opened)
        try:
            kinds = excerpts.browser.require(None)
        except StoreError as error:
            raise UnavailableError(str(error)) from None
        return cls(opened, excerpts, choice_of(asked, "kind", kinds, kinds[0]))

    @property
    def browser(self) -> Browser:
        """Reads the layers of duplicates."""
        return self.excerpts.browser

    @property
    def frame(self) -> Frame:
        """What rules decide."""
        return frame_of(self.opened)

    @property
    def heads(self) -> LargestClusters:
        """Counts of all clusters, and the largest of them."""
        return self._heads("")

    def largest(self, of_size: str) -> list[Cluster]:
        """The largest clusters, or those of a bin of sizes."""
        found = self.heads
        if not of_size or len(found.kept) < MOST:  # all are there
            return [one for one in found.largest if of_size in ("", bin_of(one.rows))]
        return self._heads(of_size).largest

    def _heads(self, of_size: str) -> LargestClusters:
        return self.opened.kept.get(("clusters", self.kind, of_size), partial(self._counted, of_size)).found

    def _counted(self, of_size: str) -> _Heads:
        with HERE.folder("clusters") as steps:
            tasks = cluster_tasks(self.browser, self.kind, MOST, steps, of_size)
            return _Heads(tasks.counted(tasks.counting(HERE)))

    def described(self, heads: Sequence[Cluster]) -> list[Cluster]:
        """These clusters, with the facts of all their rows."""
        if not heads:
            return []
        with HERE.folder("clusters") as steps:
            tasks = cluster_tasks(self.browser, self.kind, len(heads), steps)
            ids = [one.id for one in heads]
            found = tasks.described(ids, tasks.describing(ids, HERE)).clusters
        samples = self.browser.objects(layout.SAMPLES)
        return [facts.cluster(head, samples) for head, facts in zip(heads, found, strict=True)]

    def membership(self, written: str) -> Membership:
        """The cluster of a row or an item, by its id or URL; a cluster's own id is that of a row. WinnowError if there
        is none."""
        if _ID.fullmatch(written):
            place, item = place_of_item(self.opened, self.frame, written.lower())
        else:
            place, item = self._with_url(written), None
        item = item if find_kind(self.kind).unit.of_items else None
        found = self.browser.memberships(self.kind, place, item)
        there = next((one for one in found if one.status == OK), None)
        if there is None:
            statuses = ", ".join(dict.fromkeys(one.status for one in found))
            raise WinnowError(f"{place.id}: it is in no cluster of {self.kind} duplicates ({statuses or 'no items'})")
        return there

    def place_of_row(self, place: Place) -> Place:
        """The place of a row, where a place may be named by the id of one of its items."""
        if not find_kind(self.kind).unit.of_items:
            return place
        (own,) = read_rows(self.opened.store.objects, place.shard.object, [place.row], ["id"])["id"].to_pylist()
        return Place(place.shard, place.row, own.hex())

    def item_of(self, place: Place, row: Place) -> int | None:
        """The number, in its row, of the item whose id names a place; None where rows are compared."""
        is_of_items = find_kind(self.kind).unit.of_items
        return item_of_id(bytes.fromhex(place.id), bytes.fromhex(row.id)) if is_of_items else None

    def seen(self, identity: str | None) -> str | None:
        """The id of a row or an item, if that is not forgotten."""
        if identity is None:
            return None
        try:
            place_of_item(self.opened, self.frame, identity)
        except AskedError:
            return None
        return identity

    def representative(self, rows: Sequence[Place]) -> Place | None:
        """The row that stays of a cluster with these rows: the one for which another is dropped, or the only eligible
        one. None if that is not decided, or none of these is eligible."""
        if self.frame.why_no_rules is not None:
            return None
        final = (self.stays(row) for row in rows)
        found = next((one for one, row in zip(final, rows, strict=True) if one.id != row.id), None)
        return found or next((row for row in rows if self._eligible(row)), None)

    def _eligible(self, row: Place) -> bool:
        number = self.frame.row(row.shard.shard, row.row)
        first = int(self.frame.first[number])  # rules of `eligible` come first
        return bool(self.frame.seen[number]) and not 0 <= first < self.frame.rules.eligible

    def stays(self, row: Place) -> Place:
        """The row that stays in the place of this one: itself, if it is not dropped as a duplicate.

        A row that is dropped for its equal text may be dropped for one that is itself dropped for a similar text.
        """
        while (other := self.drops([row]).stays.get(row.id)) is not None:
            row = place_of(self.opened, self.frame, other)
        return row

    def drops(self, places: Iterable[Place]) -> DuplicateDrops:
        """Which rows are dropped as duplicates, and for which others."""
        if self.frame.why_no_rules is not None:
            return DuplicateDrops(None, self.frame.why_no_rules)
        return drops_of(self.frame.pinned, self.frame.duplicates, places)

    def _with_url(self, url: str) -> Place:
        store, generation, wanted = self.opened.store, self.opened.generation, Wanted(url=url)
        with HERE.folder("search") as steps:
            found = search_tasks(store, generation, wanted, steps).found(HERE)
        return single_match(store, generation, wanted, found)


@dataclass(frozen=True)
class _KeptExcerpts:
    excerpts: Excerpts
    nbytes: int = 1 << 20  # manifests, which the store shares

    @classmethod
    def of(cls, opened: Opened) -> "_KeptExcerpts":
        return cls(Excerpts.of(opened.store, opened.generation, opened.recipe, raw=opened.recipe is None))


def excerpts_of(opened: Opened) -> Excerpts:
    """Reads texts as they may be shown: as exported, or as read if there is no recipe."""
    return opened.kept.get("excerpts", partial(_KeptExcerpts.of, opened)).excerpts
