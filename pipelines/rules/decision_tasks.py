"""Decides the rows of ranges of shards, in tasks: what rules make of them is merged by the driver, not held there.

With duplicates there are two passes: one finds the rows that may represent their cluster, the other decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.rules.coverage import CoverageCounter, Detector, LanguageCoverage, merged_languages
from winnow.pipelines.rules.deciding import candidates_of_shard, decide_shard, dropped_samples
from winnow.pipelines.rules.decisions import DecisionCounts, ShardDecisions
from winnow.pipelines.rules.evaluation import Evaluator, Undecided, UndecidedError
from winnow.pipelines.rules.kept_decisions import DecisionRequest, KeptDecisions, OutcomeCounts
from winnow.pipelines.rules.listed_samples import ListedSample, listed_in_shard, merged_lists
from winnow.pipelines.rules.map_shards import map_shards
from winnow.pipelines.rules.near_thresholds import (
    EVERY,
    SampleFilter,
    Sides,
    merged_sides,
    sides_in_shard,
    threshold_cuts,
)
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.rules.representatives.candidates import (
    WORD_BYTES,
    Candidates,
    LargeCluster,
    candidate_columns,
    merged_large,
    part_of_items,
    unaccepted,
)
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, NONE_COMPARED, Duplicates, within_shards
from winnow.pipelines.rules.score_overlaps import (
    ScoreOverlap,
    Votes,
    merged_overlaps,
    overlaps_of_scores,
    overlaps_with_rules,
    votes_of_scores,
)
from winnow.pipelines.rules.sites import SiteCounts
from winnow.pipelines.running.job_tasks import Jobs, rows_here
from winnow.pipelines.running.scratch_parts import existing_parts, put_numbers, put_part, read_numbers, read_part
from winnow.pipelines.running.shard_groups import group_shards, over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store.hiding.scans import NOTHING

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

Result = TypeVar("Result")

_CANDIDATES, _REPLACED, _DROPPED = "candidates", "replaced", "dropped"


@dataclass(frozen=True, slots=True)
class Undecidable:
    """The first shard on which rules cannot be decided."""

    shard: int
    why: Undecided


@dataclass(frozen=True, slots=True)
class _Found:
    """The candidates of a range of shards, apart from their table."""

    undecided: Undecidable | None = None
    rows: int = 0  # and items
    large: tuple[LargeCluster, ...] = ()
    large_count: int = 0
    accepted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Decided:
    """What rules decide on a range of shards."""

    undecided: Undecidable | None
    outcomes: OutcomeCounts
    sites: SiteCounts
    items: OutcomeCounts
    coverage: tuple[LanguageCoverage, ...]
    overlaps: tuple[ScoreOverlap, ...]
    thresholds: tuple[Sides, ...]


@dataclass(frozen=True, slots=True)
class _Listed:
    """How many rows of a range of shards are listed as dropped."""

    rows: int


@dataclass(frozen=True, slots=True)
class _Near:
    """How far the rows of a range of shards are from thresholds."""

    thresholds: tuple[Sides, ...]


@dataclass(frozen=True, slots=True)
class _Some:
    """Some rows of a range of shards."""

    samples: tuple[ListedSample, ...]


@dataclass(frozen=True)
class DecisionTasks:
    """What every task gets. Picklable."""

    pinned: PinnedProgram  # without its shards, which are listed
    detectors: tuple[Detector, ...] | None  # None if nothing is to be detected
    scores: tuple[str, ...]
    shards: ShardList[ListedShard]
    steps: "JobSteps"
    among: SampleFilter = EVERY  # the rows that count for thresholds and lists
    most: int = 0  # the samples of a list

    def find(self, group: int) -> _Found:
        """Find the candidates of a range of shards, and store their table."""
        choice = self.pinned.program.choice
        assert choice is not None
        numbers, listed = self._shards(group)
        first = replace(self.pinned.only_eligible, shards=listed)

        def find_in_shard(shard: ShardObjects, evaluator: Evaluator) -> Candidates | Undecidable:
            try:
                return candidates_of_shard(first, choice, numbers[shard.shard], shard, evaluator)
            except UndecidedError as error:
                return Undecidable(numbers[shard.shard], error.undecided)

        found: list[Candidates] = []
        for candidates in map_shards(first, find_in_shard):
            if isinstance(candidates, Undecidable):
                return _Found(candidates)
            found.append(candidates)
        merged = Candidates.merged(found)
        tables = {_CANDIDATES: merged.table}
        tables |= {part_of_items(_CANDIDATES, kind): table for kind, table in merged.items.items()}
        for name, table in tables.items():
            columns = [column.chunk(0) for column in table.columns]  # an empty table has no batches
            batch = pa.RecordBatch.from_arrays(columns, schema=table.schema)
            put_part(self.steps.objects, self.steps.scratch, name, group, batch)
        rows = sum(table.num_rows for table in tables.values())
        return _Found(None, rows, merged.large, merged.large_count, merged.accepted)

    def prepare(self, jobs: Jobs) -> "tuple[Duplicates, Undecided | None]":
        """Choose representatives, and tell the tasks that decide which rows they replace; return the rest of the
        choice."""
        choice = self.pinned.program.choice
        if choice is None:
            return NO_DUPLICATES, None
        parts = list(over_groups(self.steps, jobs, "Candidates", self.shards, self.find, _Found))
        if (undecided := first_undecided(part.undecided for part in parts)) is not None:
            return NO_DUPLICATES, undecided
        if (rows := sum(part.rows for part in parts)) <= rows_here():
            return self._choose_here(choice, parts), None
        # Loads Beam, which a plan of fewer rows does without.
        from winnow.pipelines.rules.representatives.rounds import Rounds

        steps = replace(self.steps, shuffle=choice.shuffle)
        rounds = Rounds(choice, self.shards.groups, rows, steps, _CANDIDATES, _REPLACED)
        jobs.run(rounds.job(), rows * len(candidate_columns(choice)) * WORD_BYTES)
        large, large_count, accepted = merged_large(parts)
        large, large_count = unaccepted(large, large_count, accepted)
        return Duplicates(large=large, large_count=large_count, addresses=rounds.addresses()), None

    def _choose_here(self, choice: Choice, parts: Sequence[_Found]) -> Duplicates:
        """Choose representatives in this process."""
        with RepresentativeChooser(choice) as chooser:
            for group, one in enumerate(parts):
                items = {kind: self._candidates(part_of_items(_CANDIDATES, kind), group) for kind in choice.of_items}
                rows = self._candidates(_CANDIDATES, group)
                chooser.add(Candidates(rows, items, one.large, one.large_count, one.accepted))
            chosen = chooser.chosen([one.shard for one in self.shards.all])
        for group in range(self.shards.groups):
            numbers = self.shards.in_group(group)
            replaced: dict[str, NDArray[np.uint64]] = {}
            for kind, lost in chosen.lost.items():
                within = within_shards(lost, numbers.start, numbers.stop)
                high, low = chosen.replacements[kind]
                columns = {kind: lost, f"{kind}.high": high, f"{kind}.low": low}
                replaced |= {name: values[within] for name, values in columns.items()}
            for kind, (places, numbered) in chosen.lost_items.items():
                within = within_shards(places, numbers.start, numbers.stop)
                of_items = {f"{kind}.places": places, f"{kind}.items": numbered}
                replaced |= {name: values[within] for name, values in of_items.items()}
            put_numbers(self.steps.objects, self.steps.scratch, _REPLACED, group, replaced)
        return replace(chosen, lost={}, replacements={}, lost_items={})

    def _candidates(self, name: str, group: int) -> pa.Table:
        return pa.Table.from_batches([read_part(self.steps.objects, self.steps.scratch, name, group)])

    def replaced_in(self, shards: Iterable[str]) -> Duplicates:
        """Return the rows that representatives replace in some shards, once they are prepared."""
        if self.pinned.program.choice is None:
            return NO_DUPLICATES
        wanted = frozenset(shards)
        numbers = [number for number, one in enumerate(self.shards.all) if one.shard in wanted]
        groups = np.unique(self.shards.group_of(np.array(numbers, np.int64))).tolist()
        names = {self.shards.all[one].shard: one for group in groups for one in self.shards.in_group(group)}
        return self._duplicates(groups, names)

    def decide(self, group: int, *, rules: bool = True) -> _Decided:
        """Decide the rows of a range of shards; without rules, only measure how far they are from thresholds."""
        numbers, listed = self._shards(group)
        duplicates = self._duplicates([group], numbers) if rules else NO_DUPLICATES

        def decide_one(shard: ShardObjects, evaluator: Evaluator) -> _OfShard:
            found = self._measured(numbers[shard.shard], shard)
            decided = self._with_decisions(found, shard, evaluator, duplicates) if rules else found
            return replace(decided, votes=())  # one number a row, of which only counts are needed from here on

        parts = list(map_shards(replace(self.pinned, shards=listed), decide_one))
        return _Decided(
            next((part.undecided for part in parts if part.undecided is not None), None),
            OutcomeCounts.of(DecisionCounts.merged(part.counts for part in parts)),
            SiteCounts.merged(part.sites for part in parts),
            OutcomeCounts.of(DecisionCounts.merged(part.items for part in parts)),
            merged_languages(part.coverage for part in parts),
            merged_overlaps(part.overlaps for part in parts),
            self._merged_sides([part.thresholds for part in parts]),
        )

    def decided(self, asked: DecisionRequest, jobs: Jobs) -> KeptDecisions:
        """Decide all rows; without representatives, only measure how far they are from thresholds."""
        chosen, why = self.prepare(jobs)
        work = partial(self.decide, rules=why is None)
        parts = list(over_groups(self.steps, jobs, "Decisions", self.shards, work, _Decided))
        why = why or first_undecided(part.undecided for part in parts)
        decided = parts if why is None else []
        overlaps = merged_overlaps(part.overlaps for part in parts)
        return KeptDecisions(
            basis=asked.basis,
            undecided=why,
            outcomes=OutcomeCounts.of(DecisionCounts.merged(one.outcomes.counts for one in decided)),
            sites=SiteCounts.merged(one.sites for one in decided),
            items=OutcomeCounts.of(DecisionCounts.merged(one.items.counts for one in decided)),
            large=chosen.large if decided else (),
            large_count=chosen.large_count if decided else 0,
            addresses=chosen.addresses if decided else NONE_COMPARED,
            coverage=merged_languages(one.coverage for one in decided),
            overlaps=overlaps if why is None else tuple(overlap for overlap in overlaps if overlap.rule is None),
            thresholds=self._merged_sides([part.thresholds for part in parts]),
        )

    def map_decided(
        self, group: int, work: Callable[[int, ShardObjects, ShardDecisions, Duplicates], Result]
    ) -> Iterator[Result]:
        """Decide the rows of a range of shards; yield the results of `work` for each shard and its number, in order.

        Representatives must be prepared.
        """
        numbers, listed = self._shards(group)
        duplicates = self._duplicates([group], numbers)

        def work_on(shard: ShardObjects, evaluator: Evaluator) -> Result:
            decisions = decide_shard(self.pinned, shard, evaluator, duplicates)
            return work(numbers[shard.shard], shard, decisions, duplicates)

        return map_shards(replace(self.pinned, shards=listed), work_on)

    def list_dropped(self, group: int) -> _Listed:
        """Decide the rows of a range of shards, and store which of each shard are dropped, and why."""

        def list_one(number: int, shard: ShardObjects, decisions: ShardDecisions, duplicates: Duplicates) -> int:
            table = dropped_samples(self.pinned, shard, decisions, duplicates)
            for rows in table.combine_chunks().to_batches():
                put_part(self.steps.objects, self.steps.scratch, _DROPPED, number, rows)
            return len(table)

        return _Listed(sum(self.map_decided(group, list_one)))

    def list_some(self, group: int) -> _Some:
        """Decide the rows of a range of shards, and choose some of those that count."""

        def list_one(_: int, shard: ShardObjects, decisions: ShardDecisions, __: Duplicates) -> list[ListedSample]:
            return listed_in_shard(self.pinned, shard, decisions, self.among, self.most)

        return _Some(merged_lists(self.map_decided(group, list_one), self.most))

    def listed(self, jobs: Jobs) -> tuple[ListedSample, ...]:
        """Decide all rows, and choose some of those that count; UndecidedError if a rule cannot be decided for a
        row."""
        _, why = self.prepare(jobs)
        if why is not None:
            raise why.error(self.pinned.program)
        parts = over_groups(self.steps, jobs, "Listed", self.shards, self.list_some, _Some)
        return merged_lists((part.samples for part in parts), self.most)

    def dropped(self, jobs: Jobs) -> Iterator[pa.RecordBatch]:
        """Decide all rows; yield those that are dropped, in order. No rule may be undecided."""
        self.prepare(jobs)
        if any(
            listed.rows for listed in over_groups(self.steps, jobs, "Dropped", self.shards, self.list_dropped, _Listed)
        ):
            yield from existing_parts(self.steps.objects, self.steps.scratch, _DROPPED)

    def _merged_sides(self, parts: Sequence[Sequence[Sides]]) -> tuple[Sides, ...]:
        cuts = threshold_cuts(self.pinned.program)
        return tuple(merged_sides(part[at] for part in parts) for at in range(len(cuts)))

    def _measured(self, number: int, shard: ShardObjects) -> "_OfShard":
        """What needs no decision."""
        votes = votes_of_scores(self.pinned.store.objects, shard, self.scores)
        overlaps = overlaps_of_scores(self.scores, votes)
        return _OfShard(number, votes, self._sides(number, shard), tuple(overlaps))

    def _sides(self, number: int, shard: ShardObjects) -> tuple[Sides, ...]:
        return tuple(sides_in_shard(self.pinned, number, shard, among=self.among))

    def near(self, group: int) -> _Near:
        """Measure how far the rows of a range of shards are from thresholds, those that count alone."""
        numbers, listed = self._shards(group)

        def of_one(shard: ShardObjects, _: Evaluator) -> tuple[Sides, ...]:
            return self._sides(numbers[shard.shard], shard)

        return _Near(self._merged_sides(list(map_shards(replace(self.pinned, shards=listed), of_one))))

    def thresholds(self, jobs: Jobs) -> tuple[Sides, ...]:
        """Measure how far rows are from thresholds, those that count alone."""
        parts = list(over_groups(self.steps, jobs, "Thresholds", self.shards, self.near, _Near))
        return self._merged_sides([part.thresholds for part in parts])

    def _with_decisions(
        self, measured: "_OfShard", shard: ShardObjects, evaluator: Evaluator, duplicates: Duplicates
    ) -> "_OfShard":
        try:
            decisions = decide_shard(self.pinned, shard, evaluator, duplicates)
        except UndecidedError as error:
            return replace(measured, undecided=Undecidable(measured.number, error.undecided))
        coverage: tuple[LanguageCoverage, ...] = ()
        if self.detectors is not None:
            counter = CoverageCounter(self.pinned.store.objects, self.detectors, self.pinned.languages)
            counter.add(shard, decisions.kept)
            coverage = counter.languages()
        overlaps = overlaps_with_rules(self.scores, measured.votes, decisions)
        return replace(
            measured,
            counts=decisions.counts,
            sites=decisions.sites,
            items=DecisionCounts.empty() if decisions.items is None else decisions.items.counts,
            coverage=coverage,
            overlaps=(*measured.overlaps, *overlaps),
        )

    def _shards(self, group: int) -> tuple[dict[str, int], tuple[ShardObjects, ...]]:
        """Return the shards of a range, and their numbers by name."""
        numbers = {self.shards.all[number].shard: number for number in self.shards.in_group(group)}
        return numbers, tuple(map(self._shard, numbers.values()))

    def _shard(self, number: int) -> ShardObjects:
        one, hidden = self.shards.all[number], self.shards.hidden(number)
        return ShardObjects(one.shard, one.source, one.rows, one.objects, NOTHING.rows if hidden is None else hidden)

    def _duplicates(self, groups: Sequence[int], numbers: Mapping[str, int]) -> Duplicates:
        """What is replaced in ascending groups of shards, which have these numbers."""
        if (choice := self.pinned.program.choice) is None:
            return NO_DUPLICATES
        parts = [read_numbers(self.steps.objects, self.steps.scratch, _REPLACED, group) for group in groups]

        def joined(name: str) -> NDArray[np.uint64]:
            return np.concatenate([np.zeros(0, np.uint64), *(part[name] for part in parts)])

        lost = {kind: joined(kind) for kind in choice.kinds}
        ids = {kind: (joined(f"{kind}.high"), joined(f"{kind}.low")) for kind in choice.kinds}
        items = {kind: (joined(f"{kind}.places"), joined(f"{kind}.items")) for kind in choice.by_item}
        return Duplicates(lost, ids, numbers=numbers, lost_items=items)


@dataclass(frozen=True)
class _OfShard:
    """What a task finds in one shard."""

    number: int
    votes: Sequence[Votes]
    thresholds: tuple[Sides, ...]
    overlaps: tuple[ScoreOverlap, ...]
    counts: DecisionCounts = field(default_factory=DecisionCounts.empty)
    sites: SiteCounts = field(default_factory=SiteCounts)
    items: DecisionCounts = field(default_factory=DecisionCounts.empty)
    coverage: tuple[LanguageCoverage, ...] = ()
    undecided: Undecidable | None = None


def decision_tasks(asked: DecisionRequest, steps: "JobSteps") -> DecisionTasks:
    """Return the tasks over all shards, listed in the passes' folder."""
    pinned = asked.pinned.with_layers(asked.generation, asked.layers)
    return replace(pinned_tasks(pinned, asked.layers, steps), detectors=asked.detectors, scores=asked.scores)


def pinned_tasks(pinned: PinnedProgram, layers: Iterable[str], steps: "JobSteps") -> DecisionTasks:
    """Return tasks that decide rows, and may read these layers, which are pinned."""
    names = tuple(layers)
    shards = (
        ListedShard(shard.shard, shard.source, shard.rows, {layer: shard.objects[layer] for layer in names})
        for shard in pinned.shards
    )
    listed = group_shards(
        steps, ListedShard, shards, {shard.shard: shard.hidden for shard in pinned.shards if len(shard.hidden)}
    )
    return DecisionTasks(replace(pinned, shards=()), None, (), listed, steps)


def first_undecided(undecided: Iterable[Undecidable | None]) -> Undecided | None:
    """Return why rules cannot be decided on the first shard where they cannot; None if they can."""
    found = [one for one in undecided if one is not None]
    return min(found, key=lambda one: one.shard).why if found else None
