"""Driving the stages: what is owed is run on the engine, and what stands then becomes the next generation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import apache_beam as beam
from rich.console import Console

from winnow.pipelines.ingest.binding import ingest_context, store_record
from winnow.pipelines.ingest.context import BoundExtractor, IngestContext
from winnow.pipelines.ingest.stage import (
    SourcePlan,
    committed_names,
    freeze_plans,
    load_layer_commits,
    load_task_commits,
    look_at_sources,
    mend_splits,
    pending_extractions,
    pending_tasks,
    settle_changes,
)
from winnow.pipelines.ingest.transforms import RunExtraction, RunIngest, RunTasks, ingest_element, put_task_list
from winnow.pipelines.ledger.strikes import put_strikes, read_marks
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open, next_generation
from winnow.pipelines.store.lease import Lease
from winnow.pipelines.store.location import open_location
from winnow.runners.engines import Engine, WorkerLostError
from winnow.runners.progress import StageProgress
from winnow.schemas.errors import StageError
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.recipe import Recipe, load_recipe, resolved_yaml
from winnow.schemas.records import Generation, LayerCommit, TaskCommit

LOSSES = 4  # deaths in a row without a new commit or a row left out: the fourth strike on one row never comes


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    store: Store
    generation: Generation
    new: bool


@dataclass(frozen=True)
class StageRun:
    """What every stage's driver needs."""

    console: Console
    engine: Engine
    context: IngestContext

    def tasks(
        self,
        stage: str,
        layer: str,
        elements: Mapping[str, bytes],
        worker: beam.DoFn,
        awaited: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> None:
        """Run a list of tasks to the last commit; tasks whose worker died are run again."""
        objects = self.context.store.objects
        with TemporaryDirectory(prefix="winnow-marks-") as folder:
            marks = Path(folder)
            losses = 0
            while True:
                done = self._committed(layer, awaited)
                path = put_task_list(objects, stage, [task for name, task in elements.items() if name not in done])
                try:
                    with StageProgress(self.console, objects, stage, layer, awaited, sizes):
                        self.engine.run(partial(_build, stage, RunTasks(objects, path, worker)), marks)
                    objects.delete(path)
                    break
                except WorkerLostError as error:
                    condemned = put_strikes(objects, read_marks(marks))
                    for place in condemned:
                        self.console.print(
                            f"{stage}: {place.path} at {place.offset}: left out, its worker died on it", soft_wrap=True
                        )
                    losses = 0 if condemned or self._committed(layer, awaited) > done else losses + 1
                    if losses > LOSSES:
                        raise WorkerLostError(f"{stage}: {error}") from error
                    self.console.print(f"{stage}: a worker process died; running what is left again")

    def _committed(self, layer: str, awaited: Mapping[str, str]) -> set[str]:
        objects = self.context.store.objects
        found = (committed_names(objects, layer, key) for key in set(awaited.values()))
        return set().union(*found) & awaited.keys()


def _build(stage: str, tasks: RunTasks, pipeline: beam.Pipeline) -> None:
    pipeline | stage >> tasks


def ingest(recipe: Recipe, engine: Engine, console: Console, *, replace: bool = False) -> Outcome:
    """Bring a store up to date with its sources and extractors, and publish the result."""
    store = create_or_open(open_location(recipe.located(recipe.store.path)), store_record(recipe))
    context = ingest_context(recipe, store)
    patterns = {source.name: source.files for source in recipe.sources}
    run = StageRun(console, engine, context)
    if recipe.eligible or recipe.keep:
        console.print("note    'eligible' and 'keep' were checked; this version applies no rules yet, every row stays")
    with Lease(store.objects):
        plans = look_at_sources(context, patterns)
        plans = [settle_changes(context, plan, replace_files=replace) for plan in plans]
        freeze_plans(context, plans)
        _read(run, plans)
        latest = store.latest()
        published = {(task.key, task.task) for task in store.tasks(latest)} if latest else set()
        while mended := {plan.name: better for plan in plans if (better := mend_splits(context, plan, published))}:
            plans = [mended.get(plan.name, plan) for plan in plans]
            for name in sorted(mended):
                console.print(f"source {name}: a file cannot be read in parts; reading it whole")
            freeze_plans(context, mended.values())
            _read(run, plans)
        commits = {plan.name: _all_committed(context, plan) for plan in plans}
        _extract(run, commits)
        layers = {bound.layer: _layer(context, bound, commits) for bound in context.extractors}
        every = [commit for found in commits.values() for commit in found]
        generation, new = next_generation(store, fingerprint_of(resolved_yaml(recipe)), every, layers)
    return Outcome(store, generation, new)


def run(
    recipe: Recipe | str | Path, *, runner: str = "local", workers: int = 0, replace: bool = False, quiet: bool = True
) -> Outcome:
    """Bring the store that a recipe describes up to date: what `winnow run` does, from Python.

    Args:
        recipe: A recipe, or the path of one.
        runner: `local` or `portable`.
        workers: Worker processes; 0 for one a core.
        replace: Ingest source files that have changed in place of what they were.
        quiet: Show no progress.

    Returns:
        The store and its generation; `new` says whether anything changed.
    """
    loaded = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    return ingest(loaded, Engine(runner, workers), Console(highlight=False, quiet=quiet), replace=replace)


def _read(run: StageRun, plans: Sequence[SourcePlan]) -> None:
    owed = [(plan, task) for plan in plans for task in pending_tasks(run.context, plan)]
    if not owed:
        return
    run.tasks(
        "ingest",
        layout.SAMPLES,
        {task.name: ingest_element(task) for _, task in owed},
        RunIngest(run.context),
        {task.name: plan.key for plan, task in owed},
        {task.name: task.bytes for _, task in owed},
    )
    missing = [task.name for plan in plans for task in pending_tasks(run.context, plan)]
    if missing:
        raise StageError(f"ingest: {len(missing)} tasks ended without a commit, {missing[0]} first; run again")


def _extract(run: StageRun, commits: dict[str, list[TaskCommit]]) -> None:
    for bound in run.context.extractors:
        owed = pending_extractions(run.context, bound, commits)
        if owed:
            keys = {name: bound.key(source.key(run.context.limits)) for name, source in run.context.sources.items()}
            run.tasks(
                bound.layer,
                bound.layer,
                {task.shard: task.to_json() for task in owed},
                RunExtraction(run.context),
                {task.shard: keys[task.source] for task in owed},
                {},
            )


def _all_committed(context: IngestContext, plan: SourcePlan) -> list[TaskCommit]:
    names = [task.name for task in plan.look.tasks]
    found = load_task_commits(context.store.objects, plan.key, names)
    return [found[name] for name in names]


def _layer(context: IngestContext, bound: BoundExtractor, commits: dict[str, list[TaskCommit]]) -> list[LayerCommit]:
    found: list[LayerCommit] = []
    for source, tasks in commits.items():
        shards = [shard.shard for task in tasks for shard in task.shards]
        key = bound.key(context.sources[source].key(context.limits))
        loaded = load_layer_commits(context.store.objects, bound.layer, key, shards)
        if absent := [shard for shard in shards if shard not in loaded]:
            raise StageError(
                f"{bound.layer}: {len(absent)} shards ended without a commit, {absent[0]} first; run again"
            )
        found += loaded.values()
    return found
