"""Passes over all candidates: what a task makes of its shards, and how the driver merges it.

A plan is made in passes. Each gives small tables, by stratum or language, that merge in any grouping of shards: sums of
integers, histograms, largest values. So few candidates are planned by threads of this process, and many in tasks for
groups of shards, by the same passes; no pass brings rows to the driver.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.rules.map_shards import THREADS
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.scratch_parts import put_numbers, read_numbers
from winnow.pipelines.running.shard_groups import over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store.concurrency import map_in_order, table_threads
from winnow.scoring.mixture.cuts import ROOM, Cut, OpenRanges, Part, SeenRows, find_cuts

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

MOST_PLACES: Final = 256
"""Groups of shards whose results the driver merges, each with at most a line per stratum or bin."""

TASK_ROOM: Final = 1 << 20
"""Rows or bins of a search that the driver holds where tasks read them: some 50 MB."""

_MOST_UNMERGED: Final = 1 << 20  # lines of tables that are held before they are summed
_DENSE: Final = 1 << 16  # keys that are counted without sorting them

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
PassOf = TypeVar("PassOf", bound="Pass")


@dataclass(frozen=True, kw_only=True)
class Pass(ABC):
    """What is made of each shard's candidates. Picklable.

    A task may run twice, so no pass reads a column that it saves.
    """

    name: ClassVar[str]  # as shown
    given: Arrays = field(default_factory=dict)  # tables that all tasks read

    @abstractmethod
    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """What is made of one shard."""

    def gathered(self, parts: Iterator[Arrays]) -> Arrays:
        """What is made of some shards, in order."""
        return self.merged(parts)

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """What is made of several groups of shards, in order: by default sums by `key`."""
        return summed(parts)


class Passes(Protocol):
    """Runs passes over all shards."""

    @property
    def places(self) -> int:
        """How many readers share the memory of a search."""
        ...

    @property
    def room(self) -> int:
        """How many rows or bins of a search are held at once."""
        ...

    def run(self, one: Pass) -> Arrays:
        """What a pass makes of all shards."""
        ...


@dataclass(frozen=True)
class PassesHere:
    """Runs passes in threads of this process."""

    columns: Scratch
    shards: int
    places: int = 1
    room: int = ROOM

    def run(self, one: Pass) -> Arrays:
        """What a pass makes of all shards."""
        parts = map_in_order(partial(one.of_shard, self.columns), range(self.shards), THREADS)
        return one.merged(iter([one.gathered(parts)]))


@dataclass(frozen=True, slots=True)
class _Gathered:
    """What a task returns: its tables are in the folder."""

    lines: int


@dataclass(frozen=True)
class _PlaceTasks:
    """What every task of a pass gets. Picklable."""

    one: Pass
    stored: bool  # whether tables are given
    run_name: str
    columns: Scratch
    shards: ShardList[ListedShard]
    steps: "JobSteps"

    def gather(self, place: int) -> _Gathered:
        """Store what the pass makes of a group of shards."""
        objects, scratch = self.steps.objects, self.steps.scratch
        given = read_numbers(objects, scratch, f"given/{self.run_name}", 0) if self.stored else {}
        one, threads = replace(self.one, given=given), table_threads(objects, THREADS)
        parts = map_in_order(partial(one.of_shard, self.columns), self.shards.in_group(place), threads)
        found = one.gathered(parts)
        put_numbers(objects, scratch, f"made/{self.run_name}", place, found)
        return _Gathered(sum(map(len, found.values())))


@dataclass(frozen=True)
class PassesInTasks:
    """Runs passes in tasks, one for each group of shards."""

    columns: Scratch
    shards: ShardList[ListedShard]
    steps: "JobSteps"
    jobs: Jobs
    room: int = TASK_ROOM
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def places(self) -> int:
        """The groups of shards."""
        return self.shards.groups

    def run(self, one: Pass) -> Arrays:
        """What a pass makes of all shards."""
        name = f"{one.name}-{next(self._numbers)}"
        if one.given:
            put_numbers(self.steps.objects, self.steps.scratch, f"given/{name}", 0, one.given)
        tasks = _PlaceTasks(replace(one, given={}), bool(one.given), name, self.columns, self.shards, self.steps)
        for _ in over_groups(self.steps, self.jobs, name, self.shards, tasks.gather, _Gathered):
            pass
        made = (
            read_numbers(self.steps.objects, self.steps.scratch, f"made/{name}", place) for place in range(self.places)
        )
        return one.merged(made)


@dataclass(frozen=True, kw_only=True)
class RowsPass(Pass):
    """A pass that gives some rows of each shard: `group`, `key` and `weight`. They are searched or added up."""

    name: ClassVar[str] = "Rows"


@dataclass(frozen=True, kw_only=True)
class TotalsPass(Pass):
    """The weight of all rows, by group."""

    name: ClassVar[str] = "Totals"
    rows: RowsPass

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `weight` by `key`."""
        part = replace(self.rows, given=self.given).of_shard(columns, shard)
        return sums_by(part["group"], weight=part["weight"])


@dataclass(frozen=True, kw_only=True)
class SearchPass(Pass):
    """One pass of a search for cuts: the rows, or their histogram, in ranges that are still open."""

    name: ClassVar[str] = "Cuts"
    rows: RowsPass
    room: int  # of one reader

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The rows."""
        return replace(self.rows, given=self.given).of_shard(columns, shard)

    def gathered(self, parts: Iterator[Arrays]) -> Arrays:
        """What is seen of them."""
        seen = SeenRows(replace(OpenRanges.of(self.given), room=self.room))
        for part in parts:
            seen.add(Part(part["group"], part["key"], part["weight"]))
        return seen.arrays()

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """What is seen in all."""
        openings = OpenRanges.of(self.given)
        whole = SeenRows(openings)
        for part in parts:
            whole.absorb(SeenRows.of(part, openings))
        return whole.arrays()


def totals_of(passes: Passes, rows: RowsPass, groups: int) -> NDArray[np.int64]:
    """Return the weight of each group."""
    sums, found = passes.run(TotalsPass(given=rows.given, rows=replace(rows, given={}))), np.zeros(groups, np.int64)
    found[sums["key"]] = sums["weight"]
    return found


def cuts_of(passes: Passes, rows: RowsPass, targets: Mapping[int, Sequence[int]]) -> dict[int, tuple[Cut, ...]]:
    """Return the cut of each target of each group, as `find_cuts` does."""
    bare, room = replace(rows, given={}), max(1, passes.room // passes.places)

    def see(openings: OpenRanges) -> SeenRows:
        given = {**rows.given, **openings.arrays()}
        return SeenRows.of(passes.run(SearchPass(given=given, rows=bare, room=room)), openings)

    return find_cuts(see, targets, room=passes.room)


def sums_by(keys: NDArray[Any], **amounts: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return each key that occurs, ascending, with the number of its `rows` and its sums."""
    if len(keys) and int(keys.max()) < max(_DENSE, 4 * len(keys)):
        place, rows = keys.astype(np.intp, copy=False), np.bincount(keys)  # `add.at` is slow for other indices
        there = np.flatnonzero(rows)
    else:
        there, place, rows = np.unique(keys.astype(np.int64), return_inverse=True, return_counts=True)
    dense = len(rows) != len(there)
    found: dict[str, NDArray[Any]] = {"key": there, "rows": rows[there] if dense else rows}
    for name, amount in amounts.items():
        sums = np.zeros(len(rows), np.int64)
        np.add.at(sums, place, amount)  # integers: `bincount` adds floats
        found[name] = sums[there] if dense else sums
    return found


def summed(parts: Iterator[Arrays]) -> Arrays:
    """Add up tables by their column `key`."""
    return _folded(parts, _sum)


def largest(parts: Iterator[Arrays]) -> Arrays:
    """The largest value of every column by `key`."""
    return _folded(parts, partial(_reduced, np.maximum))


def table_of(arrays: Arrays, lines: int, *names: str) -> list[NDArray[np.int64]]:
    """Return columns by key, for keys below `lines`; 0 where there is none."""
    found = np.zeros((len(names), lines), np.int64)
    for number, name in enumerate(names):
        found[number, arrays["key"]] = arrays[name]
    return list(found)


def _folded(parts: Iterator[Arrays], merge: Callable[[Sequence[Arrays]], Arrays]) -> Arrays:
    held: list[Arrays] = []
    lines, most = 0, _MOST_UNMERGED
    for part in parts:
        held.append(part)
        lines += len(part["key"])
        if lines > most:
            held = [merge(held)]
            lines = len(held[0]["key"])
            most = max(_MOST_UNMERGED, 2 * lines)
    found: Arrays = held[0] if len(held) == 1 else merge(held) if held else {"key": np.zeros(0, np.int64)}
    return found


def _sum(tables: Sequence[Arrays]) -> Arrays:
    return _reduced(np.add, tables)


def _reduced(how: np.ufunc, tables: Sequence[Arrays]) -> Arrays:
    """Apply `how` to the values of every key; no value is negative."""
    keys, place = np.unique(np.concatenate([table["key"] for table in tables]), return_inverse=True)
    found: dict[str, NDArray[Any]] = {"key": keys}
    for name in tables[0].keys() - {"key"}:
        found[name] = np.zeros(len(keys), np.int64)
        how.at(found[name], place, np.concatenate([table[name] for table in tables]))
    return found
