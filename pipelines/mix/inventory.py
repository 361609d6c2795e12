"""Takes the inventory for a mixture: one pass over the store that counts candidates and stores their numbers.

Tasks decide the rows and find the candidates of each shard. The numbers that planning needs, some 60 bytes per
candidate, are then in a scratch folder: in memory and on this machine's disk, where one process plans them, or where
all tasks reach them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import orjson

from winnow.filters.duplicates.components import Edges, components, growing_forests, merge_forests
from winnow.filters.duplicates.kind import kinds_split_by
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import BoundMix
from winnow.pipelines.mix.candidates import CandidateFinder, Cell, ShardCandidates
from winnow.pipelines.mix.dropped_media import NO_MEDIA_DROPPED, DroppedMedia
from winnow.pipelines.mix.passes import MOST_PLACES, Arrays, Pass, Passes, PassesHere, PassesInTasks
from winnow.pipelines.mix.scratch import HeldScratch, Scratch
from winnow.pipelines.mix.tokens import EDIT_UNMEASURED, STATUSES
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.decision_tasks import DecisionTasks, pinned_tasks
from winnow.pipelines.rules.decisions import DecisionCounts, ShardDecisions
from winnow.pipelines.rules.evaluation import Undecided, UndecidedError
from winnow.pipelines.rules.kept_decisions import OutcomeCounts
from winnow.pipelines.rules.map_shards import THREADS
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.rules.representatives.replaced import Duplicates
from winnow.pipelines.rules.summary import RulesSummary, summarise_rules
from winnow.pipelines.running.job_tasks import HERE, Jobs, rows_here
from winnow.pipelines.running.scratch_parts import put_numbers, read_numbers
from winnow.pipelines.running.shard_groups import over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store.concurrency import map_in_order, map_objects
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount
from winnow.schemas.recipe import EditEntry

MOST_JOINED = 1 << 22
"""Clusters of several kinds that share rows, which the driver joins in some 140 bytes each where tasks plan."""

_COLUMNS, _CELLS, _JOINED = "columns", "cells", "joined"
_SPLIT, _SIDE = "split", "side"
_LOCAL = "cell_of_shard"  # the number of a candidate's cell among those of its shard
_NOTHING: Arrays = {"key": np.zeros(0, np.int64)}


@dataclass(frozen=True)
class Inventory:
    """All candidates: their columns in the scratch folder, and their totals."""

    passes: Passes
    columns: Scratch
    shards: ShardList[ListedShard]
    cells: tuple[Cell, ...]  # sorted; candidates refer to them by number
    side: str  # the column with positions in the split
    kept: Amount
    left_out: Mapping[str, Amount]
    left_out_by_source: Mapping[str, Mapping[str, Amount]]  # by source
    rules: RulesSummary
    bands: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counts of a range of shards."""

    undecided: Undecided | None = None  # why rules cannot be decided on its first such row
    refused: str | None = None  # why a stage's condition cannot be applied
    outcomes: OutcomeCounts = field(default_factory=OutcomeCounts)
    items: OutcomeCounts = field(default_factory=OutcomeCounts)
    cells: tuple[Cell, ...] = ()
    kept: Amount = field(default_factory=Amount)
    left_out: Mapping[str, Mapping[str, Amount]] = field(default_factory=dict)  # by source and reason
    joined: int = 0  # pairs of clusters that share a row


@dataclass(frozen=True)
class _InventoryTasks:
    """What every task gets. Picklable."""

    decisions: DecisionTasks
    finder: CandidateFinder

    def count(self, group: int) -> _Counted:
        """Decide the rows of a range of shards, and store the columns of their candidates."""
        steps = self.decisions.steps

        def find(
            number: int, shard: ShardObjects, decided: ShardDecisions, _: Duplicates
        ) -> tuple[str, DecisionCounts, ShardCandidates]:
            items, dropped = decided.items, NO_MEDIA_DROPPED
            if items is not None:
                dropped = DroppedMedia.marked(items.numbers, ~items.left(decided.rules))
                of_items.append(items.counts)
            found = self.finder.find(shard, decided.kept, dropped)
            self._put(number, shard.source, found)
            return shard.source, decided.counts, replace(found, columns={})  # those are stored

        counts: list[DecisionCounts] = []
        of_items: list[DecisionCounts] = []
        cells: set[Cell] = set()
        kept, left_out = Amount(), dict[str, dict[str, Amount]]()
        joined: list[Edges] = []
        try:
            for source, decided, found in self.decisions.map_decided(group, find):
                counts.append(decided)
                cells.update(found.cells)
                kept += found.kept
                joined += found.joined
                _add(left_out.setdefault(source, {}), found.left_out)
        except UndecidedError as error:
            return _Counted(error.undecided)
        except RecipeError as error:
            return _Counted(None, str(error))
        outcomes, items = (OutcomeCounts.of(DecisionCounts.merged(one)) for one in (counts, of_items))
        forest = merge_forests(joined)
        if len(forest[0]):
            put_numbers(steps.objects, steps.scratch, _JOINED, group, {"first": forest[0], "second": forest[1]})
        return _Counted(None, None, outcomes, items, tuple(sorted(cells)), kept, left_out, len(forest[0]))

    def counted(self, jobs: Jobs) -> Iterator[_Counted]:
        """Run the tasks; yield the counts of each, in order. RecipeError if rules or stages' conditions cannot be
        decided for a row."""
        steps, shards = self.decisions.steps, self.decisions.shards
        for counted in over_groups(steps, jobs, "Candidates", shards, self.count, _Counted):
            if counted.undecided is not None:
                raise counted.undecided.error(self.decisions.pinned.program)
            if counted.refused is not None:
                raise RecipeError(counted.refused)
            yield counted

    def _put(self, number: int, source: str, found: ShardCandidates) -> None:
        names = [_cell_key(replace(cell, source=source)) for cell in found.cells]
        columns = {_LOCAL if name == "cell" else name: values for name, values in found.columns.items()}
        self.columns.put(number, columns | {_CELLS: np.frombuffer(orjson.dumps(names), np.uint8)})

    @property
    def columns(self) -> Scratch:
        """Where the columns of candidates are."""
        return Scratch(self.decisions.steps.objects, f"{self.decisions.steps.scratch}/{_COLUMNS}")


def take_inventory(
    recipe: BoundRecipe, bound: BoundMix, pinned: PinnedProgram, generation: int, jobs: Jobs, opened: ExitStack
) -> Inventory:
    """Decide every row, and store what planning needs for the kept ones.

    `pinned`: the rules and every layer that the mixture reads; `generation`: its number, for the summary; `opened`
    removes the scratch folders. RecipeError if rules or stages' conditions cannot be decided for a row.
    """
    kinds = tuple(kind.name for kind in kinds_split_by(recipe.kinds))
    has_clips = any(source.clips is not None for source in recipe.config.sources)
    steps = opened.enter_context(jobs.folder("mix"))
    decisions = pinned_tasks(pinned, pinned.layers, steps)
    tasks = _InventoryTasks(decisions, CandidateFinder(bound, decisions.pinned, kinds, has_clips))
    duplicates, why = decisions.prepare(jobs)
    if why is not None:
        raise why.error(pinned.program)
    counts, items, cells, kept = DecisionCounts.empty(), DecisionCounts.empty(), set[Cell](), Amount()
    left_out_by_source: dict[str, dict[str, Amount]] = {}
    joined: list[int] = []  # groups of shards
    for group, one in enumerate(tasks.counted(jobs)):
        counts = DecisionCounts.merged((counts, one.outcomes.counts))
        items = DecisionCounts.merged((items, one.items.counts))
        cells.update(one.cells)
        kept += one.kept
        joined += [group] if one.joined else []
        for source, amounts in one.left_out.items():
            _add(left_out_by_source.setdefault(source, {}), amounts)
    left_out: dict[str, Amount] = {}
    for amounts in left_out_by_source.values():
        _add(left_out, amounts)
    _require_edits(recipe.config.edits, left_out)
    candidates = kept.samples - sum(amount.samples for amount in left_out.values())
    ordered = tuple(sorted(cells))
    passes = _passes(tasks, candidates, jobs, opened)
    passes.run(_NumberCells(given=_cell_names(ordered)))
    return Inventory(
        passes,
        passes.columns,
        decisions.shards,
        ordered,
        _side(tasks, joined, passes, bound),
        kept,
        dict(sorted(left_out.items())),
        left_out_by_source,
        summarise_rules(pinned, counts, generation, duplicates, items),
        bound.bands,
    )


def _passes(tasks: _InventoryTasks, candidates: int, jobs: Jobs, opened: ExitStack) -> PassesHere | PassesInTasks:
    """Where passes over so many candidates run: in tasks, or in this process, on this machine's disk."""
    there, steps, shards = tasks.columns, tasks.decisions.steps, tasks.decisions.shards
    if candidates > rows_here():
        return PassesInTasks(there, replace(shards, most_groups=min(shards.most_groups, MOST_PLACES)), steps, jobs)
    if isinstance(steps.objects, LocalStore):
        here = HeldScratch(there.objects, there.folder)
    else:
        here = HeldScratch(opened.enter_context(HERE.folder("mix")).objects, _COLUMNS)
    for _ in map_in_order(partial(here.bring, there), range(len(shards.all)), THREADS):
        pass
    return PassesHere(here, len(shards.all))


@dataclass(frozen=True, kw_only=True)
class _NumberCells(Pass):
    """Numbers the cells of candidates among all cells."""

    name = "Cells"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Save the column `cell`."""
        names = orjson.loads(columns.load(shard, _CELLS).tobytes())
        at = np.searchsorted(self.given["names"], np.array(names, np.object_))
        columns.save(shard, "cell", self.given["numbers"][at][columns.load(shard, _LOCAL)].astype(np.uint32))
        return _NOTHING


@dataclass(frozen=True, kw_only=True)
class _JoinSides(Pass):
    """Gives clusters that share a row the same position in the split."""

    name = "Sides"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Save the column `side`."""
        split, places = columns.load(shard, _SPLIT), self.given["places"]
        at = np.minimum(np.searchsorted(places, split), len(places) - 1)
        columns.save(shard, _SIDE, np.where(places[at] == split, self.given["first"][at], split))
        return _NOTHING


def _side(tasks: _InventoryTasks, joined: Sequence[int], passes: PassesHere | PassesInTasks, bound: BoundMix) -> str:
    """Return the column with positions in the split, of which clusters that share a row have the same."""
    if not joined:
        return _SPLIT
    objects, scratch = tasks.decisions.steps.objects, tasks.decisions.steps.scratch
    parts = map_objects(objects, lambda group: read_numbers(objects, scratch, _JOINED, group), joined)
    for forest in growing_forests((part["first"], part["second"]) for part in parts):
        if isinstance(passes, PassesInTasks) and len(forest[0]) > MOST_JOINED:
            raise RecipeError(
                f"{bound.config.place}: mix.split: more than {MOST_JOINED:,} clusters of duplicates share samples with "
                f"clusters of other kinds, and must be held out together; of more than {rows_here():,} candidates that "
                "many cannot be joined: search for fewer kinds under 'dedupe', or let it drop duplicates"
            )
    places, first = components(*forest)
    passes.run(_JoinSides(given={"places": places, "first": first}))
    return _SIDE


def _cell_key(cell: Cell) -> str:
    """One text for a cell; different cells have different ones."""
    return f"{len(cell.source_class)} {len(cell.source)} {cell.source_class}{cell.source}{cell.language}"


def _cell_names(cells: Sequence[Cell]) -> Arrays:
    """The texts of cells in their own order, and the numbers of the cells."""
    keys = [_cell_key(cell) for cell in cells]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return {"names": np.array([keys[at] for at in order], np.object_), "numbers": np.array(order, np.uint32)}


def _add(sums: dict[str, Amount], amounts: Mapping[str, Amount]) -> None:
    for reason, amount in amounts.items():
        sums[reason] = sums.get(reason, Amount()) + amount


def _require_edits(edits: Iterable[EditEntry], left_out: Mapping[str, Amount]) -> None:
    """Raise RecipeError if texts would be left out because of null spans, and an edit's `when_null` is error."""
    strict = next((entry for entry in edits if entry.when_null == "error"), None)
    lost = left_out.get(STATUSES[EDIT_UNMEASURED])
    if strict is not None and lost is not None:
        raise RecipeError(
            f"{strict.place}: edits.{strict.name}: the spans of {lost.samples:,} samples that the rules keep are null, "
            "and 'when_null' is error; drop such texts with a rule, or set when_null: drop or keep"
        )
