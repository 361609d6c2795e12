"""Runs the stages that write a store: remaining tasks run on the engine, and the results become the next generation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from winnow.filters.operators import PictureOperator
from winnow.filters.video.decode.operator import VideoOperator
from winnow.pipelines.annotate.task import AnnotationContext, RunAnnotation
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.operators import BoundOperator, Pass, passes_of
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.forgetting.known_harm import compare_ingested, ingested_tasks
from winnow.pipelines.forgetting.purging import finish_purge
from winnow.pipelines.forgetting.scanning import scan_store
from winnow.pipelines.ingest.planning.context import BoundExtractor, IngestContext
from winnow.pipelines.ingest.planning.stage import (
    SourcePlan,
    freeze_plans,
    pending_extractions,
    pending_tasks,
    plan_sources,
    replan_misfit_splits,
    resolve_changes,
)
from winnow.pipelines.ingest.reread import ExtractionTask
from winnow.pipelines.ingest.transforms import RunExtraction, RunIngest, ingest_element
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.media.references import media_sources
from winnow.pipelines.media.videos.videos import VideoSource
from winnow.pipelines.preflight.check import AskedOperators, NewInput, preflight
from winnow.pipelines.preflight.checks.columns import require_samples
from winnow.pipelines.running.ledger.crashes import CRASHED_PICTURES, CRASHED_VIDEOS, CrashedPictures, CrashedVideos
from winnow.pipelines.running.row_layers import load_layers, pending_shards
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, create_or_open, open_store
from winnow.pipelines.store.leases.command_lease import one_command, writing_lease
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.lost_manifests import rewrite_lost_manifests
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deduplication import find_duplicates
from winnow.runners.stages.meetings import met
from winnow.runners.stages.publishing import Outcome, publish
from winnow.runners.stages.reached import Reached
from winnow.runners.stages.recording import record_ingest, record_pass
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import CompletedTasks, StageRun
from winnow.runners.stages.running.warming import warm_kernels
from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.progress.stage import TaskInput, inputs_of
from winnow.runners.terminal.progress.status_line import waiting
from winnow.runners.terminal.tables import print_remarks
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StageError, StoreError


def ingest(recipe: BoundRecipe, engine: Engine, console: Console, *, replace: bool = False) -> Outcome:
    """Ingest new and changed input of all sources and extractors, and publish the result."""
    store = create_or_open(open_location(recipe.store_address), store_record(recipe.config))
    context = recipe.ingest(store)
    patterns = {source.name: source.files for source in recipe.config.sources}
    run = StageRun(console, engine, store, recipe=recipe)
    with writing_lease(store.objects):
        finish_purge(store)
        rewrite_lost_manifests(store)
        held = StoreIndex.of(store)
        plans = plan_sources(context, patterns)
        plans = [resolve_changes(context, held, plan, replace_files=replace) for plan in plans]
        print_remarks(console, preflight(NewInput(recipe=recipe, context=context, plans=plans)))
        freeze_plans(context, plans)
        ran = read_tasks(run, context, held, plans)
        while mended := {plan.name: better for plan in plans if (better := replan_misfit_splits(context, held, plan))}:
            plans = [mended.get(plan.name, plan) for plan in plans]
            for name in sorted(mended):
                console.print(f"source {name}: a file cannot be read in parts; reading it whole")
            freeze_plans(context, mended.values())
            ran += read_tasks(run, context, held, plans)
        commits = {plan.name: all_committed(held, plan) for plan in plans}
        for plan in plans:
            require_samples(context, plan, commits[plan.name])
        compare_known_harm(run, recipe, context, commits, ran)
        extract_text(run, context, held, commits)
        layers = {bound.layer: committed_texts(context, held, bound, commits) for bound in context.extractors}
        state = StoreState.of(held, TaskCommits.joined(commits.values()), layers)
        record_ingest(run, ran, commits, state)
        return publish(run, recipe, state)


def annotate(recipe: BoundRecipe, engine: Engine, console: Console) -> Outcome:
    """Measure the rows of the latest generation with all operators of the recipe, and publish the result."""
    return _annotate(recipe, ready_operators(recipe, console), engine, console)


def dedupe(recipe: BoundRecipe, engine: Engine, console: Console) -> Outcome:
    """Find the duplicates among all rows of the latest generation, and publish the result."""
    operators = recipe.operators
    signing = {asked.layer for asked in recipe.searched.values()}
    wanted = [bound for bound in operators if bound.layer in signing]
    needed = {layer for bound in wanted for layer in bound.reads}
    warm_kernels(recipe.config, quiet=console.quiet)
    print_remarks(console, preflight(AskedOperators(recipe=recipe, operators=(), untried=wanted)))
    store = open_store(open_location(recipe.store_address))
    run = StageRun(console, engine, store, recipe=recipe)
    with writing_lease(store.objects):
        finish_purge(store)
        state = current_state(recipe, store)
        load_layers(state, operators)
        missing = [bound for bound in operators if bound.layer in needed and bound.layer not in state.layers]
        measure(run, recipe, state, [*missing, *(bound for bound in wanted if bound.layer not in state.layers)])
        find_duplicates(run, recipe, state)
        return publish(run, recipe, state)


def ready_operators(recipe: BoundRecipe, console: Console) -> tuple[BoundOperator, ...]:
    """The recipe's operators, each run once on a sample, so that problems are reported before hours of work."""
    operators = recipe.operators
    warm_kernels(recipe.config, quiet=console.quiet)
    with waiting(console, "check", f"loading {count_of(len(operators), 'operator')}"):
        notes = preflight(AskedOperators(recipe=recipe, operators=operators, untried=operators))
    print_remarks(console, notes)
    return operators


def _annotate(recipe: BoundRecipe, operators: Sequence[BoundOperator], engine: Engine, console: Console) -> Outcome:
    store = open_store(open_location(recipe.store_address))
    run = StageRun(console, engine, store, recipe=recipe)
    with writing_lease(store.objects):
        finish_purge(store)
        state = current_state(recipe, store)
        measure(run, recipe, state, operators)
        return publish(run, recipe, state)


@one_command()
def run_all(
    recipe: BoundRecipe, engine: Engine, console: Console, *, replace: bool = False, reached: Reached | None = None
) -> Outcome:
    """Run all stages of the recipe that write the store; each is noted in `reached` when it begins."""
    reached = reached or Reached()
    _ = recipe.sources  # a missing folder is reported before kernels are compiled, which takes minutes
    operators = ready_operators(recipe, console)
    reached.begin("ingest")
    outcome = ingest(recipe, engine, console, replace=replace)
    if operators:
        reached.begin("annotate")
        measured = _annotate(recipe, operators, engine, console)
        outcome = Outcome(measured.store, measured.generation, outcome.new or measured.new)
    if recipe.config.dedupe is not None:
        reached.begin("dedupe")
        found = dedupe(recipe, engine, console)
        outcome = Outcome(found.store, found.generation, outcome.new or found.new)
    return outcome


def read_tasks(run: StageRun, context: IngestContext, held: StoreIndex, plans: Sequence[SourcePlan]) -> CompletedTasks:
    """Run the tasks of these plans until all are committed."""
    pending = [(plan, pending_tasks(context, held, plan)) for plan in plans]
    if not any(tasks for _, tasks in pending):
        return CompletedTasks()
    ran = run.tasks(
        "ingest",
        lambda: ((task.name, ingest_element(task)) for _, tasks in pending for task in tasks),
        RunIngest(context),
        {name: layout.task_commit(plan.key, name) for plan, tasks in pending for name in tasks.names},
        held,
        {
            name: TaskInput(plan.name, bytes=size)
            for plan, tasks in pending
            for name, size in zip(tasks.names, tasks.bytes.tolist(), strict=True)
        },
    )
    missing = [name for plan in plans for name in pending_tasks(context, held, plan).names]
    if missing:
        raise StageError(
            f"ingest: {count_of(len(missing), 'task')} ended without a commit, {missing[0]} first; run again"
        )
    return ran


def compare_known_harm(
    run: StageRun,
    recipe: BoundRecipe,
    context: IngestContext,
    commits: Mapping[str, TaskCommits],
    ran: CompletedTasks,
) -> None:
    """Compare what was ingested before with lists of known harm that are new, and hide the rows that match."""
    if context.known_harm is None:
        return
    every = (commit for found in commits.values() for commit in found)
    media, jobs = media_sources(recipe.config), EngineJobs(run, "known harm")
    found = compare_ingested(run.store, context.known_harm, media, every, ran.names, jobs)
    if found.tasks:
        counted = ", ".join(f"{name} {grouped(count)}" for name, count in found.matches) or "no medium"
        unread = f"; {grouped(found.unread)} media could not be read again" if found.unread else ""
        said = f"known harm        {counted} of what was ingested before; {count_of(found.rows, 'row')} hidden{unread}"
        run.console.print(said)
    if found.rows and (latest := run.store.latest_record()) is not None:
        scan_store(run.store, latest, jobs)


def extract_text(run: StageRun, context: IngestContext, held: StoreIndex, commits: Mapping[str, TaskCommits]) -> None:
    """Extract text for tasks that were read before an extractor was added."""
    for bound in context.extractors:
        pending = pending_extractions(context, held, bound, commits)
        if pending:
            run.tasks(
                bound.layer,
                partial(_lines, pending),
                RunExtraction(context),
                held.begin({task.shard: {task.layer: task.key} for task in pending}),
                held,
            )


def _lines(tasks: Iterable[ExtractionTask]) -> Iterator[tuple[str, bytes]]:
    return ((task.shard, task.to_json()) for task in tasks)


def measure(run: StageRun, recipe: BoundRecipe, state: StoreState, operators: Sequence[BoundOperator]) -> None:
    """Update the layers of these operators for the shards of the state, and add them to the state."""
    measured = [_measure(run, recipe, state, one_pass) for one_pass in passes_of(operators)]
    noted = (
        ("pictures that crashed the decoder", CrashedPictures, CRASHED_PICTURES, any(one.pictures for one in measured)),
        ("videos that crashed the decoder", CrashedVideos, CRASHED_VIDEOS, any(one.videos for one in measured)),
    )
    for what, kind, folder, looked in noted:
        if looked and (crashed := len(kind(run.store.objects))):
            said = f"{what}: {grouped(crashed)}; their items are `crashed`, their hashes in {run.store.root}/{folder}"
            print_remarks(run.console, [said])


def _measure(run: StageRun, recipe: BoundRecipe, state: StoreState, one_pass: Pass) -> AnnotationContext:
    """The same for one pass; returns what it looked at."""
    pending = pending_shards(state, one_pass.operators)
    context = _context(run.store, recipe, one_pass) if pending else AnnotationContext(run.store, one_pass.operators)
    ran = CompletedTasks()
    if pending:
        missing = {layer for lacking in pending.lacking for layer in lacking}
        meeting = [bound for bound in one_pass.operators if bound.covers is not None and bound.layer in missing]
        with met(run, state, meeting) as meetings:
            ran = run.tasks(
                f"annotate.{one_pass.resource}",
                pending.lines,
                RunAnnotation(replace(context, meetings=meetings)),
                state.held.begin(pending.missing),
                state.held,
                inputs_of(pending.samples),
            )
    if uncommitted := load_layers(state, one_pass.operators):
        raise StageError(f"annotate: shards ended without a commit of {', '.join(uncommitted)}; run again")
    record_pass(run, state, one_pass, pending, ran)
    return context


def _context(store: Store, recipe: BoundRecipe, one_pass: Pass) -> AnnotationContext:
    """A pass, and where its pictures and videos are read."""
    pictures = [bound for bound in one_pass.operators if isinstance(bound.operator, PictureOperator)]
    videos = [bound for bound in one_pass.operators if isinstance(bound.operator, VideoOperator)]
    media = media_sources(recipe.config) if pictures or videos else None
    return AnnotationContext(
        store,
        one_pass.operators,
        pictures=PictureSource(media, pictures[0].decoding) if media and pictures else None,
        videos=VideoSource(media, videos[0].watching) if media and videos else None,
    )


def current_state(recipe: BoundRecipe, store: Store) -> StoreState:
    """What the latest generation holds of the recipe's sources, which must have been ingested with its settings."""
    held = StoreIndex.of(store)
    if held.record is None:
        store.require_record()
    context = recipe.ingest(store)
    commits = ingested_tasks(recipe, context, held)
    for bound in context.extractors:
        if pending_extractions(context, held, bound, commits):
            raise StoreError(f"{store.root}: lacks the layer {bound.layer}; run: winnow ingest {recipe.file}")
    layers = {bound.layer: committed_texts(context, held, bound, commits) for bound in context.extractors}
    return StoreState.of(held, TaskCommits.joined(commits.values()), layers)


def all_committed(held: StoreIndex, plan: SourcePlan) -> TaskCommits:
    """The commits of every task of a plan, which are there."""
    found = held.find_tasks(plan.key, plan.intake.tasks.names)
    if len(found) < len(plan.intake.tasks):
        raise StageError(f"ingest: {len(plan.intake.tasks) - len(found)} commits were removed meanwhile; run again")
    return found


def committed_texts(
    context: IngestContext, held: StoreIndex, bound: BoundExtractor, commits: Mapping[str, TaskCommits]
) -> ManifestRows:
    """The objects of an extractor's layer, for every shard of these tasks."""
    found: list[ManifestRows] = []
    for source, tasks in commits.items():
        samples = held.samples(tasks).objects
        key = bound.key(context.sources[source].key(context.limits))
        loaded = held.find_layer(bound.layer, key, samples)
        if len(loaded) < len(samples):
            absent = [shard for shard in samples if shard not in loaded.by_shard]
            raise StageError(
                f"{bound.layer}: {count_of(len(absent), 'shard')} ended without a commit, {absent[0]} first; run again"
            )
        found.append(loaded)
    return ManifestRows.joined(found)
