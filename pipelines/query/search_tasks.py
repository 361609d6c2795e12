"""Searches a store for one sample by its id or URL, in tasks over ranges of shards.

In every shard only the column of ids or URLs is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.shard_groups import group_shards, over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import TABLES_AT_ONCE, map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.tables import read_batches, read_rows
from winnow.schemas.errors import StoreError, WinnowError
from winnow.schemas.records import Generation

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

ID_BYTES = 16
SHOWN = 5
"""How many samples an error lists if several match."""

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a sample is searched by: the beginning of its id, or its URL."""

    digits: str | None = None
    url: str | None = None

    @property
    def column(self) -> str:
        """The column that is read."""
        return "url" if self.digits is None else "id"

    @property
    def most(self) -> int:
        """How many samples are looked for."""
        return 1 if self.digits is not None and len(self.digits) == 2 * ID_BYTES else SHOWN + 1  # a whole id is unique

    @property
    def name(self) -> str:
        """For messages."""
        return f"URL {self.url}" if self.digits is None else f"id {self.digits}"

    def matching(self, batch: pa.RecordBatch) -> pa.Array:
        """Which rows match."""
        if self.digits is None:
            return pc.equal(batch.column("url"), pa.scalar(self.url, batch.column("url").type))
        low, high = (bytes.fromhex(self.digits.ljust(2 * ID_BYTES, digit)) for digit in ("0", "f"))
        ids = batch.column("id").cast(pa.binary())
        return pc.and_(pc.greater_equal(ids, pa.scalar(low)), pc.less_equal(ids, pa.scalar(high)))


def wanted_id(beginning: str) -> Wanted:
    """A search by the beginning of an id; WinnowError if it has other characters than an id's digits."""
    digits = beginning.lower()
    if not digits or not set(digits) <= _DIGITS or len(digits) > 2 * ID_BYTES:
        raise WinnowError(f"{beginning!r} is not an id: expected 1 to {2 * ID_BYTES} hexadecimal digits, or --url URL")
    return Wanted(digits=digits)


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that matches."""

    shard: int  # the number of its shard
    row: int
    id: str  # hexadecimal


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The first rows that match, and whether a forgotten one did."""

    rows: tuple[FoundRow, ...] = ()
    forgotten: bool = False


@dataclass(frozen=True)
class SearchTasks:
    """What every task gets. Picklable."""

    objects: ObjectStore
    wanted: Wanted
    shards: ShardList[ListedShard]
    steps: "JobSteps"

    def found(self, jobs: Jobs) -> SearchResult:
        """Search all shards."""
        return self._first(over_groups(self.steps, jobs, "Search", self.shards, self.search, SearchResult))

    def search(self, group: int) -> SearchResult:
        """Search a range of shards, until there is enough; little is read after that, on a disk nothing."""
        return self._first(map_objects(self.objects, self._of_shard, self.shards.in_group(group), TABLES_AT_ONCE))

    def _first(self, parts: Iterable[SearchResult]) -> SearchResult:
        total = SearchResult()
        for part in parts:
            total = SearchResult((*total.rows, *part.rows)[: self.wanted.most], total.forgotten or part.forgotten)
            if len(total.rows) == self.wanted.most:
                break
        return total

    def _of_shard(self, number: int) -> SearchResult:
        path, hidden = self.shards.all[number].objects[layout.SAMPLES], self.shards.hidden(number)
        unseen = frozenset[int]() if hidden is None else frozenset(hidden.tolist())
        rows, forgotten, start = list[FoundRow](), False, 0
        for batch in read_batches(self.objects, path, [self.wanted.column]):
            for row in (np.flatnonzero(np.asarray(self.wanted.matching(batch).fill_null(False))) + start).tolist():
                if row in unseen:
                    forgotten = True
                    continue
                identity = read_rows(self.objects, path, [row], ["id"])["id"][0].as_py()
                rows.append(FoundRow(number, row, identity.hex()))
                if len(rows) == self.wanted.most:
                    return SearchResult(tuple(rows), forgotten)
            start += batch.num_rows
        return SearchResult(tuple(rows), forgotten)


def search_tasks(store: Store, generation: Generation, wanted: Wanted, steps: "JobSteps") -> SearchTasks:
    """Return the tasks over all shards of a generation, listed in the passes' folder."""
    rows = store.manifest(generation, layout.SAMPLES)
    shards = (ListedShard(row.shard, row.source, row.rows, {layout.SAMPLES: row.object}) for row in rows)
    hidden = {shard: one.rows for shard, one in hidden_rows(store, generation).items()}
    return SearchTasks(store.objects, wanted, group_shards(steps, ListedShard, shards, hidden), steps)


def single_match(store: Store, generation: Generation, wanted: Wanted, found: SearchResult) -> Place:
    """The place of the sample that was found; WinnowError if none or several match, or it is forgotten."""
    if len(found.rows) == 1:
        (one,) = found.rows
        return Place(store.manifest(generation, layout.SAMPLES)[one.shard], one.row, one.id)
    if found.rows:
        what = "has this URL" if wanted.digits is None else f"begins with {wanted.digits}"
        ids = ", ".join(one.id for one in found.rows[:SHOWN])
        more = ", …" if len(found.rows) > SHOWN else ""
        raise WinnowError(f"more than one sample {what}: {ids}{more}")
    if found.forgotten:
        raise WinnowError(f"{store.root}: the sample of {wanted.name} is forgotten and cannot be shown")
    raise StoreError(f"{store.root}: generation {generation.number} has no sample of {wanted.name}")
