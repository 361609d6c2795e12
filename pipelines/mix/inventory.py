"""Takes the inventory for a mixture: one pass over the store that counts candidates and stores their numbers.

Tasks decide the rows and find the candidates of each shard. The numbers that planning needs, some 60 bytes per
candidate, are then on this machine's disk.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges, components
from winnow.filters.duplicates.kind import kinds_split_by
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import BoundMix
from winnow.pipelines.mix.candidates import CandidateFinder, Cell, ShardCandidates
from winnow.pipelines.mix.dropped_media import NO_MEDIA_DROPPED, DroppedMedia
from winnow.pipelines.mix.scratch import Scratch
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
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.scratch_parts import put_arrays, read_arrays
from winnow.pipelines.running.shard_groups import over_groups
from winnow.pipelines.store.concurrency import map_in_order
from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount
from winnow.schemas.recipe import EditEntry

T = TypeVar("T")

_CANDIDATES = "mixed"
_CELLS = ("source_class", "language")  # of a cell; its source is the shard's


@dataclass(frozen=True)
class Inventory:
    """All candidates: their columns in the scratch folder, and their totals."""

    scratch: Scratch
    shards: Sequence[ShardObjects]
    cells: tuple[Cell, ...]  # sorted; candidates refer to them by number
    kept: Amount
    left_out: Mapping[str, Amount]
    left_out_by_source: Mapping[str, Mapping[str, Amount]]  # by source
    rules: RulesSummary
    bands: tuple[Column, ...]

    def cell(self, shard: int) -> NDArray[np.uint32]:
        """Return the cell number of each candidate of a shard."""
        return self.scratch.load(shard, "cell")

    def each(self, work: Callable[[int], T]) -> Iterator[T]:
        """Yield the result of `work` for each shard number, in order; several shards are processed at once."""
        return map_in_order(work, range(len(self.shards)), THREADS)

    def column(self, shard: int, name: str) -> NDArray[Any]:
        """Return a column of a shard's candidates."""
        return self.scratch.load(shard, name)


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


@dataclass(frozen=True)
class _InventoryTasks:
    """What every task gets. Picklable."""

    decisions: DecisionTasks
    finder: CandidateFinder

    def count(self, group: int) -> _Counted:
        """Decide the rows of a range of shards, and store the columns of their candidates."""

        def find(
            number: int, shard: ShardObjects, decided: ShardDecisions, _: Duplicates
        ) -> tuple[str, DecisionCounts, ShardCandidates]:
            items, dropped = decided.items, NO_MEDIA_DROPPED
            if items is not None:
                dropped = DroppedMedia.marked(items.numbers, ~items.left(decided.rules))
                of_items.append(items.counts)
            found = self.finder.find(shard, decided.kept, dropped)
            self._put(number, found)
            return shard.source, decided.counts, replace(found, columns={}, joined=())  # those are stored

        counts: list[DecisionCounts] = []
        of_items: list[DecisionCounts] = []
        cells: set[Cell] = set()
        kept, left_out = Amount(), dict[str, dict[str, Amount]]()
        try:
            for source, decided, found in self.decisions.map_decided(group, find):
                counts.append(decided)
                cells.update(found.cells)
                kept += found.kept
                _add(left_out.setdefault(source, {}), found.left_out)
        except UndecidedError as error:
            return _Counted(error.undecided)
        except RecipeError as error:
            return _Counted(None, str(error))
        outcomes, items = (OutcomeCounts.of(DecisionCounts.merged(one)) for one in (counts, of_items))
        return _Counted(None, None, outcomes, items, tuple(sorted(cells)), kept, left_out)

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

    def _put(self, number: int, found: ShardCandidates) -> None:
        arrays = {name: pa.array(values) for name, values in found.columns.items()}
        for name in _CELLS:
            arrays[f"cells.{name}"] = pa.array([getattr(cell, name) for cell in found.cells], pa.string())
        for end in (0, 1):
            some = [np.zeros(0, np.uint64), *(edges[end] for edges in found.joined)]
            arrays[f"joined.{end}"] = pa.array(np.concatenate(some))
        put_arrays(self.decisions.steps.objects, self.decisions.steps.scratch, _CANDIDATES, number, arrays)

    def take(self, number: int, source: str, number_of: Mapping[Cell, int], scratch: Scratch) -> Edges:
        """Move the candidates of a shard to this machine's disk, numbering their cells among all cells; return the
        pairs of clusters that share a row."""
        arrays = read_arrays(self.decisions.steps.objects, self.decisions.steps.scratch, _CANDIDATES, number)
        classes, languages = (arrays.pop(f"cells.{name}").to_pylist() for name in _CELLS)
        first, second = (arrays.pop(f"joined.{end}").to_numpy() for end in (0, 1))
        columns = {name: values.to_numpy(zero_copy_only=False) for name, values in arrays.items()}
        cells = [number_of[Cell(one, source, language)] for one, language in zip(classes, languages, strict=True)]
        columns["cell"] = np.array(cells, np.uint32)[columns["cell"]]
        for name, values in columns.items():
            scratch.save(number, name, values)
        return first, second


def take_inventory(
    recipe: BoundRecipe, bound: BoundMix, pinned: PinnedProgram, generation: int, scratch: Scratch, jobs: Jobs
) -> Inventory:
    """Decide every row, and store what planning needs for the kept ones in `scratch`.

    `pinned`: the rules and every layer that the mixture reads; `generation`: its number, for the summary. RecipeError
    if rules or stages' conditions cannot be decided for a row.
    """
    kinds = tuple(kind.name for kind in kinds_split_by(recipe.kinds))
    has_clips = any(source.clips is not None for source in recipe.config.sources)
    with jobs.folder("mix") as steps:
        decisions = pinned_tasks(pinned, pinned.layers, steps)
        tasks = _InventoryTasks(decisions, CandidateFinder(bound, decisions.pinned, kinds, has_clips))
        duplicates, why = decisions.prepare(jobs)
        if why is not None:
            raise why.error(pinned.program)
        counts, items, cells, kept = DecisionCounts.empty(), DecisionCounts.empty(), set[Cell](), Amount()
        left_out_by_source: dict[str, dict[str, Amount]] = {}
        for one in tasks.counted(jobs):
            counts = DecisionCounts.merged((counts, one.outcomes.counts))
            items = DecisionCounts.merged((items, one.items.counts))
            cells.update(one.cells)
            kept += one.kept
            for source, amounts in one.left_out.items():
                _add(left_out_by_source.setdefault(source, {}), amounts)
        left_out: dict[str, Amount] = {}
        for amounts in left_out_by_source.values():
            _add(left_out, amounts)
        _require_edits(recipe.config.edits, left_out)
        number_of = {cell: number for number, cell in enumerate(sorted(cells))}
        joined = [
            edges
            for edges in map_in_order(
                lambda one: tasks.take(one[0], one[1].source, number_of, scratch), enumerate(pinned.shards), THREADS
            )
            if len(edges[0])
        ]
    _merge_clusters(scratch, len(pinned.shards), joined)
    return Inventory(
        scratch,
        pinned.shards,
        tuple(number_of),
        kept,
        dict(sorted(left_out.items())),
        left_out_by_source,
        summarise_rules(pinned, counts, generation, duplicates, items),
        bound.bands,
    )


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


def _merge_clusters(scratch: Scratch, shards: int, joined: Sequence[Edges]) -> None:
    """Give clusters that share a row the same position in the split."""
    if not joined:
        return
    ends = [np.concatenate([edges[end] for edges in joined]) for end in (0, 1)]
    places, first = components(*ends)
    for shard in range(shards):
        split = np.array(scratch.load(shard, "split"))
        at = np.minimum(np.searchsorted(places, split), len(places) - 1)
        scratch.save(shard, "split", np.where(places[at] == split, first[at], split))
