"""Chooses representatives in tasks, where one process cannot hold all candidates: by cluster, through the exchange.

Each kind of duplicates is a round. A group of shards sends the best of its rows in each cluster, one line a cluster, so
that no cluster is large; the cluster's partition finds the best of all groups, and tells the groups that have another
one. There are as many partitions as the lines have bytes for. Then each group knows which of its rows are replaced, and
sends what is left to the next kind's round. What is replaced at the end is an object for each group; the driver gets
counts.

The choice is that of `choosing`, which is where it is described.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.rules.representatives.candidates import (
    TEXT,
    WORD_BYTES,
    Rows,
    part_of_items,
    preference_names,
)
from winnow.pipelines.rules.representatives.replaced import NONE_COMPARED, UnequalTexts
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route, addressed_blocks, partition_of_key, partitions_for
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep
from winnow.pipelines.running.row_arrays import find_in_sorted, run_starts
from winnow.pipelines.running.scratch_parts import put_numbers, read_numbers, read_part
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.uint128 import Words, places_of, values_of

# Whose best is asked for: rows, or items that nothing represents yet. A line for none is sent back to its group, which
# goes on when something is sent to it.
_OF_ROWS, _OF_ITEMS, _OF_NONE = range(3)
_CLUSTER = ("asked", "high", "low")
_FIXED = ("taken", "id_high", "id_low", "place", "item", "group")  # the other columns of each line
_SETTLED, _ADDRESSES = "settled", "addresses"

Settled = dict[str, NDArray[np.uint64]]
"""What is replaced so far: by kind the places, ascending, and the ids of those that stay; places and items."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a choice. Picklable."""

    choice: Choice
    groups: int  # of shards
    rows: int  # that are candidates, and their items
    steps: JobSteps
    candidates: str  # the parts of groups' candidates
    replaced: str  # and of what is replaced in the end

    def job(self) -> LinearJob:
        """Two exchanges for each kind: to the partitions of clusters, and back to the groups of shards."""
        steps: list[ExchangeStep] = []
        for number, kind in enumerate(self.choice.kinds):
            steps.append(ExchangeStep(f"Best.{kind}", self._route.partitions, self.best, self._route))
            steps.append(ExchangeStep(f"Settled.{kind}", self.groups, partial(self.settle, number)))
        last = StoreStep("Replaced", self.groups, self.settle_last)
        return LinearJob(self.steps, "Clusters", self.groups, partial(self.ask, 0), tuple(steps[:-1]), last)

    def addresses(self) -> UnequalTexts:
        """How many rows that another one of their address replaces have another text than that one."""
        if not any(find_kind(kind).of_address for kind in self.choice.kinds):
            return NONE_COMPARED
        objects, scratch = self.steps.objects, self.steps.scratch
        parts = (read_numbers(objects, scratch, _ADDRESSES, group)["counts"] for group in range(self.groups))
        return UnequalTexts(*np.sum(list(parts), axis=0).tolist())

    def ask(self, number: int, group: int) -> Iterator[AddressedBlock]:
        """Send the best row of a group in each cluster of a kind, and of its items, to the clusters' partitions."""
        lines = self._own(number, group).lines
        back = dict.fromkeys(lines.schema.names, 0) | {"asked": _OF_NONE, "high": group, "group": group}
        lines = _joined([lines, pa.RecordBatch.from_pylist([back], schema=lines.schema)])
        parts = partition_of_key(values_of(*_words(lines)), self._route.partitions)
        yield from self._route.send(group, [(lines, parts)])

    def best(self, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
        """Send the best line of each cluster to the groups that sent another one."""
        lines = _joined(batches)
        order, first = _best_first(lines)
        best = np.empty(len(order), np.int64)
        best[order] = order[first][np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))]
        groups = lines["group"].to_numpy()
        others = np.flatnonzero((groups[best] != groups) | (lines["asked"].to_numpy() == _OF_NONE))
        answers = lines.take(pa.array(best[others]))
        yield from addressed_blocks(f"best-{partition}", [(answers, groups[others])], self.groups)

    def settle(self, number: int, group: int, batches: Batches) -> Iterator[AddressedBlock]:
        """Store what the rows and items of a group lose to better ones of a kind; ask for the next kind."""
        self._settle(number, group, batches, f"{_SETTLED}-{number}")
        yield from self.ask(number + 1, group)

    def settle_last(self, group: int, batches: Batches) -> Iterator[int]:
        """The same for the last kind."""
        self._settle(len(self.choice.kinds) - 1, group, batches, self.replaced)
        yield group

    def _settle(self, number: int, group: int, batches: Batches, part: str) -> None:
        kind, own, objects, scratch = self.choice.kinds[number], self._own(number, group), *self._place
        best = _Best.of(_joined([own.lines, *batches]))
        found = self._settled(number, group)
        if kind in self.choice.by_item:
            found |= _represented(kind, own, best)
        places, at = _replaced(own, best)
        high, low = (best.lines[name].to_numpy()[at] for name in ("id_high", "id_low"))
        put_numbers(objects, scratch, part, group, found | {kind: places, f"{kind}.high": high, f"{kind}.low": low})
        if find_kind(kind).of_address:
            gone = own.rows.take(pa.array(np.searchsorted(own.places, places)))
            counts = _compared_texts(gone, best.lines.take(pa.array(at)), _wordings(self.choice))
            put_numbers(objects, scratch, _ADDRESSES, group, {"counts": counts})

    @cached_property
    def _route(self) -> Route:
        """From the groups to the partitions of clusters."""
        columns = len(_CLUSTER) + len(_FIXED) + len(self.choice.preferences) + 2 * len(_wordings(self.choice))
        lines = self.rows * (2 if self.choice.by_item else 1)
        return Route(self.groups, partitions_for(lines * columns * WORD_BYTES))

    @property
    def _place(self) -> tuple[ObjectStore, str]:
        return self.steps.objects, self.steps.scratch

    def _settled(self, number: int, group: int) -> Settled:
        """What is replaced before a round."""
        return read_numbers(*self._place, f"{_SETTLED}-{number - 1}", group) if number else {}

    def _own(self, number: int, group: int) -> "_Own":
        """A group's candidates that are left for a round, and the best of them in each cluster of its kind."""
        kind, settled = self.choice.kinds[number], self._settled(number, group)
        rows = read_part(*self._place, self.candidates, group)
        gone = np.concatenate([_NONE, *(settled[before] for before in self.choice.kinds[:number])])
        rows = rows.filter(pa.array(~np.isin(rows["place"].to_numpy(), gone)))
        items: pa.RecordBatch | None = None
        lines: list[pa.RecordBatch] = []
        if find_kind(kind).unit.of_items:
            items = read_part(*self._place, part_of_items(self.candidates, kind), group)
            at, there = find_in_sorted(rows["place"].to_numpy(), items["place"].to_numpy())
            items, at = items.filter(pa.array(there)), at[there]
            lines.append(self._lines(_OF_ROWS, rows.take(pa.array(at)), _words(items), group))
            if kind in self.choice.by_item:
                taken = _among(items, _represented_before(settled, self.choice, number))
                of, numbers = rows.take(pa.array(at)), items["item"].to_numpy()
                lines.append(self._lines(_OF_ITEMS, of, _words(items), group, numbers, taken))
        else:
            clustered = np.flatnonzero(rows[f"{kind}_high"].is_valid().to_numpy(zero_copy_only=False))
            some = rows.take(pa.array(clustered))
            words = tuple(some[f"{kind}_{word}"].to_numpy() for word in ("high", "low"))
            lines.append(self._lines(_OF_ROWS, some, (words[0], words[1]), group))
        every = _joined(lines)
        order, first = _best_first(every)
        return _Own(kind, rows, items, every.take(pa.array(order[first])))

    def _lines(
        self,
        asked: int,
        rows: pa.RecordBatch,
        cluster: tuple[Words, Words],
        group: int,
        items: Words | None = None,
        taken: NDArray[np.bool_] | None = None,
    ) -> pa.RecordBatch:
        """Lines of rows or items: the cluster, what orders them, and what is compared of the best one.

        Items that are represented already come last: they represent none, and their group asks which one does.
        """
        count = rows.num_rows
        items = np.zeros(count, np.uint64) if items is None else items
        last = np.zeros(count, np.uint64) if taken is None else taken.astype(np.uint64)
        columns: dict[str, pa.Array] = dict(
            zip(_CLUSTER, map(pa.array, (np.full(count, asked, np.uint64), *cluster)), strict=True)
        )
        columns["taken"] = pa.array(last)
        columns |= {name: rows[name] for name in (*preference_names(self.choice), "id_high", "id_low", "place")}
        columns |= {"item": pa.array(items), "group": pa.array(np.full(count, group, np.uint64))}
        columns |= {name: rows[name] for kind in _wordings(self.choice) for name in (f"{kind}_high", f"{kind}_low")}
        return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class _Own:
    """The candidates of a group that are left for a kind."""

    kind: Kind
    rows: pa.RecordBatch  # by place
    items: pa.RecordBatch | None  # of these rows, if the kind compares items
    lines: pa.RecordBatch  # the best of each cluster

    @property
    def places(self) -> Words:
        """Of the rows."""
        places: Words = self.rows["place"].to_numpy()
        return places


@dataclass(frozen=True)
class _Best:
    """The best line of each cluster, by what is asked for and the cluster."""

    lines: pa.RecordBatch
    asked: NDArray[np.uint64]

    @classmethod
    def of(cls, lines: pa.RecordBatch) -> "_Best":
        """`lines`: the best of a group, and those that other groups have."""
        order, first = _best_first(lines)
        best = lines.take(pa.array(order[first]))
        return cls(best, best["asked"].to_numpy())

    def at(self, asked: int, cluster: tuple[Words, Words]) -> Rows:
        """The line of each of these clusters, all of which were asked for."""
        start, end = np.searchsorted(self.asked, [asked, asked + 1])
        found: Rows = places_of(_words(self.lines.slice(start, end - start)), cluster) + int(start)
        return found


def _best_first(lines: pa.RecordBatch) -> tuple[Rows, Rows]:
    """Return the order of lines by cluster, the best first, and where each cluster begins in it."""
    names = lines.schema.names
    columns = [lines[name].to_numpy() for name in names[: names.index("item") + 1]]
    order = np.lexsort(columns[::-1])
    return order, run_starts(*(column[order] for column in columns[: len(_CLUSTER)]))


def _replaced(own: _Own, best: _Best) -> tuple[Words, Rows]:
    """Return the places of rows that a better one replaces, ascending, and the best line for each."""
    if own.items is None:
        words = [own.rows[f"{own.kind}_{word}"] for word in ("high", "low")]
        clustered = np.flatnonzero(words[0].is_valid().to_numpy(zero_copy_only=False))
        high, low = (word.take(pa.array(clustered)).to_numpy() for word in words)
        at, places = best.at(_OF_ROWS, (high, low)), own.places[clustered]
        lost = best.lines["place"].to_numpy()[at] != places
        return places[lost], at[lost]
    whole = own.items.filter(pa.array(own.items["all_items"].to_numpy() == 1))
    places, items = whole["place"].to_numpy(), whole["item"].to_numpy()
    at = best.at(_OF_ROWS, _words(whole))
    order = np.lexsort((items, places))  # the first item of a row names the row that stays
    places, at = places[order], at[order]
    beaten = best.lines["place"].to_numpy()[at] != places
    first = run_starts(places)
    lost = np.logical_and.reduceat(beaten, first) if len(first) else np.zeros(0, np.bool_)
    return places[first[lost]], at[first[lost]]


def _represented(kind: Kind, own: _Own, best: _Best) -> Settled:
    """Return the items with a better item in their cluster that nothing represents, by place and number."""
    assert own.items is not None
    at = best.at(_OF_ITEMS, _words(own.items))
    some = np.flatnonzero(best.lines["taken"].to_numpy()[at] == 0)
    items = own.items.take(pa.array(some))
    rows = own.rows.take(pa.array(np.searchsorted(own.places, items["place"].to_numpy())))
    lines = best.lines.take(pa.array(at[some]))
    names = own.lines.schema.names
    later, equal = np.zeros(len(some), np.bool_), np.ones(len(some), np.bool_)
    for name in names[names.index("taken") + 1 : names.index("item") + 1]:
        value = (items if name == "item" else rows)[name].to_numpy()
        other = lines[name].to_numpy()
        later |= equal & (value > other)
        equal &= value == other
    places, numbers = items["place"].to_numpy()[later], items["item"].to_numpy()[later]
    order = np.lexsort((numbers, places))
    return {f"{kind}.places": places[order], f"{kind}.items": numbers[order]}


def _represented_before(settled: Settled, choice: Choice, number: int) -> tuple[Words, Words]:
    """Return the items that items of earlier kinds represent, ascending, each once."""
    kinds = [kind for kind in choice.kinds[:number] if kind in choice.by_item]
    places, items = (
        np.concatenate([_NONE, *(settled[f"{kind}.{name}"] for kind in kinds)]) for name in ("places", "items")
    )
    order = np.lexsort((items, places))
    first = order[run_starts(places[order], items[order])]
    return places[first], items[first]


def _among(items: pa.RecordBatch, some: tuple[Words, Words]) -> NDArray[np.bool_]:
    """Which items are among some, which ascend."""
    found: NDArray[np.bool_] = places_of(some, (items["place"].to_numpy(), items["item"].to_numpy())) >= 0
    return found


def _wordings(choice: Choice) -> list[str]:
    """Return the kinds, or digests, by which the texts of rows of one address are compared; none if none is."""
    if not any(find_kind(kind).of_address for kind in choice.kinds):
        return []
    kinds: list[str] = [kind for kind in choice.of_rows if find_kind(kind).of_wording]
    return kinds if choice.digest is None else [*kinds, TEXT]


def _compared_texts(gone: pa.RecordBatch, stays: pa.RecordBatch, wordings: Iterable[str]) -> NDArray[np.int64]:
    """Count the rows whose text is compared with that of the row that stays, and those that have another one."""
    known, equal = np.zeros((2, gone.num_rows), np.bool_)
    for kind in wordings:
        names = [f"{kind}_{word}" for word in ("high", "low")]
        both = np.ones(gone.num_rows, np.bool_)
        same = np.ones(gone.num_rows, np.bool_)
        for name in names:
            both &= gone[name].is_valid().to_numpy(zero_copy_only=False)
            both &= stays[name].is_valid().to_numpy(zero_copy_only=False)
            same &= gone[name].fill_null(0).to_numpy() == stays[name].fill_null(0).to_numpy()
        known |= both
        equal |= both & same
    return np.array([known.sum(), (known & ~equal).sum()], np.int64)


def _words(lines: pa.RecordBatch) -> tuple[Words, Words]:
    return lines["high"].to_numpy(), lines["low"].to_numpy()


def _joined(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches of one schema, of which there is at least one, as one."""
    return pa.concat_batches(list(batches))


_NONE: Words = np.zeros(0, np.uint64)
