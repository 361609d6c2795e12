"""Slices of row-wise stages, for schedulers without Beam: `--tasks 3/16` runs the third of sixteen slices.

The tasks of a stage, sorted by name, are assigned to slices in turn, so that each task belongs to exactly one slice
whatever is already committed. A slice that is run again completes its remaining tasks. A slice writes commits but
publishes no generation. After all slices, run the stage without `--tasks`: it finds all commits and publishes the same
generation as an unsliced run.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.ingest.planning.stage import plan_sources, resolve_changes
from winnow.pipelines.preflight.check import NewInput, preflight
from winnow.pipelines.running.ledger.intake import freeze
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open, open_store
from winnow.pipelines.store.leases.command_lease import slice_lease
from winnow.pipelines.store.leases.lease import Share
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.recording import record_ingest
from winnow.runners.stages.running.stage_run import StageRun
from winnow.runners.stages.store_stages import (
    all_committed,
    committed_texts,
    current_state,
    extract_text,
    measure,
    read_tasks,
    ready_operators,
)
from winnow.runners.terminal.tables import print_remarks
from winnow.schemas.errors import StoreError, WinnowError

_WRITTEN = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of a list of tasks."""

    number: int  # from 1
    of: int

    @property
    def name(self) -> str:
        """Its name in object names."""
        return f"{self.number}-of-{self.of}"

    def take(self, names: Iterable[str]) -> frozenset[str]:
        """The tasks of this slice; each task belongs to exactly one slice."""
        return frozenset(sorted(set(names))[self.number - 1 :: self.of])

    def share(self, store: Store, stage: str) -> AbstractContextManager[None]:
        """The lease for this slice of a stage."""
        return slice_lease(lambda: Share(store.objects, f"{stage}.{self.name}"))


def parse_slice(text: str) -> Slice:
    """Parse `3/16`, the third of sixteen slices."""
    written = _WRITTEN.fullmatch(text.strip())
    number, of = (int(part) for part in written.groups()) if written else (0, 0)
    if not 1 <= number <= of:
        raise WinnowError(f"--tasks {text}: expected K/N with K from 1 to N, such as 3/16 for the third of 16 slices")
    return Slice(number, of)


@dataclass(frozen=True, slots=True)
class SliceDone:
    """The result of a slice."""

    stage: str
    part: Slice
    tasks: int  # of the slice
    all: int  # of the stage
    what: str  # "tasks" or "shards"

    def line(self, recipe: BoundRecipe) -> str:
        """A line for the user, with the next command."""
        return (
            f"{self.stage}  slice {self.part.number}/{self.part.of}: {self.tasks:,} of {self.all:,} {self.what}, all "
            f"committed; when all slices are done, run: winnow {self.stage} {recipe.file}"
        )


def sliced(state: StoreState, part: Slice) -> StoreState:
    """The state with only the shards of a slice."""
    mine = part.take(state.samples)

    def only_mine(rows: ManifestRows) -> ManifestRows:
        return rows.where(row.shard in mine for row in rows)

    layers = {name: only_mine(rows) for name, rows in state.layers.items()}
    return StoreState(state.held, state.tasks, layers, only_mine(state.shards), state)


def ingest_slice(
    recipe: BoundRecipe, part: Slice, engine: Engine, console: Console, *, replace_files: bool = False
) -> SliceDone:
    """Ingest a slice of the sources' tasks; the first slice fixes the list of tasks."""
    store = create_or_open(open_location(recipe.store_address), store_record(recipe.config))
    context = recipe.ingest(store)
    with part.share(store, "ingest"):
        require_no_purge(store)
        patterns = {source.name: source.files for source in recipe.config.sources}
        held = StoreIndex.of(store)
        while True:  # the first slice to record the tasks wins; the others plan again and find them
            proposed = plan_sources(context, patterns)
            plans = [resolve_changes(context, held, plan, replace_files=replace_files) for plan in proposed]
            notes = preflight(NewInput(recipe=recipe, context=context, plans=plans))
            if all(freeze(store, plan.name, plan.intake) for plan in plans):
                break
        print_remarks(console, notes)
        names = [name for plan in plans for name in plan.intake.tasks.names]
        mine = part.take(names)
        plans = [
            replace(plan, intake=replace(plan.intake, tasks=tasks.where(name in mine for name in tasks.names)))
            for plan, tasks in ((plan, plan.intake.tasks) for plan in plans)
        ]
        run = StageRun(console, engine, store, part.name, recipe)
        ran = read_tasks(run, context, held, plans)
        commits = {plan.name: all_committed(held, plan) for plan in plans}
        extract_text(run, context, held, commits)
        layers = {bound.layer: committed_texts(context, held, bound, commits) for bound in context.extractors}
        record_ingest(run, ran, commits, StoreState.of(held, TaskCommits.joined(commits.values()), layers))
    return SliceDone("ingest", part, len(mine), len(names), "tasks")


def annotate_slice(recipe: BoundRecipe, part: Slice, engine: Engine, console: Console) -> SliceDone:
    """Measure a slice of the shards of the latest generation with every operator of the recipe."""
    operators = ready_operators(recipe, console)
    store = open_store(open_location(recipe.store_address))
    with part.share(store, "annotate"):
        require_no_purge(store)
        whole = current_state(recipe, store)
        state = sliced(whole, part)
        run = StageRun(console, engine, store, part.name, recipe)
        measure(run, recipe, state, _of_slices(operators, console))
    return SliceDone("annotate", part, len(state.shards), len(whole.shards), "shards")


def _of_slices(operators: Sequence[BoundOperator], console: Console) -> list[BoundOperator]:
    """The operators that a slice can run: not those that look across what other slices measure."""
    found, later = [], set[str]()
    measured = {bound.layer for bound in operators}
    for bound in operators:  # each after those whose layers it reads
        if not later.isdisjoint(bound.reads) or (bound.covers is not None and not measured.isdisjoint(bound.reads)):
            later.add(bound.layer)
        else:
            found.append(bound)
    if later:
        print_remarks(console, [f"left for 'winnow annotate' after all slices: {', '.join(sorted(later))}"])
    return found


def require_no_purge(store: Store) -> None:
    """Raise StoreError if a purge is unfinished: it deletes commits, and a slice must not finish it."""
    if store.objects.exists(layout.PURGE):
        raise StoreError(
            f"{store.root}: a purge is unfinished and must be completed before slices run; run: winnow gc {store.root}"
        )
