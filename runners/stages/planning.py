"""`winnow plan`: the tasks, an estimate, what the rules decide, and the resolved recipe if asked for.

Tasks and the estimate come from file listings; the rules' decisions come from the columns that they name.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.forgetting.outputs import DECISIONS
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.ingest.planning.stage import plan_sources
from winnow.pipelines.preflight.check import (
    AskedOperators,
    AskedScores,
    DecidedRules,
    ExportFolders,
    NewInput,
    Stage,
    WholeRecipe,
    preflight,
)
from winnow.pipelines.query.generation import read_as
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_tasks
from winnow.pipelines.store.generations import NoStoreError, Store
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.location import open_location, open_store_at
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.estimating.amounts import StageEstimate, StoreBefore, estimate
from winnow.runners.estimating.contents import Contents, of_files, of_generation
from winnow.runners.estimating.measured import own_rates
from winnow.runners.estimating.rates import read_rates
from winnow.runners.estimating.run_log import read_runs
from winnow.runners.estimating.scores import PlannedScore, planned_scores, print_needs
from winnow.runners.estimating.tables import duration, estimate_json, print_estimate
from winnow.runners.facts.coverage import print_coverage
from winnow.runners.facts.planned_sources import Planned, planned_sources, print_sources
from winnow.runners.facts.rules import print_rules
from winnow.runners.stages.lists.whole_file import registered_file
from winnow.runners.stages.rule_decisions import rule_decisions, write_dropped
from winnow.runners.stages.running.warming import warm_kernels
from winnow.runners.tables.quantities import byte_size
from winnow.runners.terminal.tables import print_json, print_remarks
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.recipe import resolved_yaml
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class RecipePlan:
    """What a run would do, according to listings."""

    resolved: str
    store: Store
    generation: Generation | None
    state: str
    context: IngestContext
    sources: tuple[Planned, ...]

    @property
    def pending_bytes(self) -> int:
        """The size of the input that is not ingested yet."""
        return sum(int(pending.bytes.sum()) for _, pending in self.sources)


def show_plan(
    recipe: BoundRecipe,
    console: Console,
    *,
    as_json: bool = False,
    resolved: bool = False,
    decisions: str | None = None,
    rates: str | None = None,
    workers: int = 1,
) -> None:
    """Print what a run would do and what the rules decide. Writes nothing to the store, except what rules decide.

    Args:
        recipe: The recipe to plan.
        console: Where to print.
        as_json: Print one JSON object instead of tables.
        resolved: Print first the recipe with every default and preset.
        decisions: A Parquet file to write, with one row per dropped sample.
        rates: A file of rates that override the built-in ones; else those of the store's own runs do.
        workers: The number of workers to estimate the time for.

    Raises:
        SourceError: New files do not fit the columns that the recipe names.
        RecipeError: Duplicates raise an alarm that the recipe does not accept, or a strict mixture's budget is above
            what the rules keep; the plan is printed first.
    """
    known = read_rates(rates)
    notes = preflight(WholeRecipe(recipe=recipe, is_plan=True))  # also without a store
    plan = _plan(recipe)
    if rates is None:
        known = own_rates(read_runs(plan.store.objects), known)
    listed = [source for source, _ in plan.sources]
    of_input = preflight(NewInput(recipe=recipe, is_plan=True, context=plan.context, plans=listed))
    layers = plan.generation.layers if plan.generation is not None else {}
    operators = recipe.operators
    untried = [bound for bound in operators if bound.layer not in layers]
    if untried:
        warm_kernels(recipe.config)
    notes += preflight(AskedOperators(recipe=recipe, is_plan=True, operators=operators, untried=untried))
    scores = planned_scores(recipe, plan.store, plan.generation, plan.context, operators)
    outdated = [one.bound for one in scores if not one.is_current]
    notes += preflight(AskedScores(recipe=recipe, is_plan=True, scores=outdated))
    notes += of_input
    notes += preflight(ExportFolders(recipe=recipe, is_plan=True, growing=plan.pending_bytes > 0))
    tasks = [size for _, pending in plan.sources for size in pending.bytes.tolist()]
    fresh = [
        of_files(plan.context.sources[one.name], one.listing.files, int(pending.bytes.sum()))
        for one, pending in plan.sources
    ]
    held = of_generation(plan.store, plan.generation)
    before = StoreBefore(plan.store, plan.generation, plan.context, tasks, sum(fresh, Contents()), held)
    left = estimate(recipe, before, operators, scores, known)
    if not as_json:
        if resolved:
            console.print(escape(plan.resolved))
        _print_plan(plan, scores, notes, _estimate(plan, left), console)
        print_estimate(left, known, workers, console)
    rules, coverage = _rules(recipe, plan, decisions)
    if as_json:
        cost = estimate_json(left, known, workers)
        print_json(_json(plan, scores, notes, rules, coverage) | {"estimate": cost})
    if rules is not None and not as_json:
        console.print()
        print_rules(rules, console, with_groups=True)
    if coverage is not None and not as_json:
        console.print()
        print_coverage(coverage, console)
    if rules is not None:
        last: Stage = "dedupe" if plan.pending_bytes else "mix"  # budgets are compared once all is measured
        of_rules = preflight(DecidedRules(recipe=recipe, is_plan=True, last=last, rules=rules))
        print_remarks(console, [] if as_json else of_rules)


def _plan(recipe: BoundRecipe) -> RecipePlan:
    record = generation = None
    try:
        store = open_store_at(recipe.store_address)
        record = store.latest_record()
        generation = None if record is None else read_as(recipe, store, record)
        state = "nothing ingested yet" if generation is None else f"generation {generation.number}"
    except NoStoreError:
        store = Store(open_location(recipe.store_address), store_record(recipe.config))
        state = "does not exist yet"
    objects, context = store.objects, recipe.ingest(store)
    held = StoreIndex(objects, record)
    sources = []
    for plan in plan_sources(context, {source.name: source.files for source in recipe.config.sources}):
        done = HashSet(itertools.chain(held.tasks(plan.key).names, committed_tasks(objects, plan.key)))
        tasks = plan.intake.tasks
        sources.append((plan, tasks.where(name not in done for name in tasks.names)))
    configs: dict[str, object] = {bound.extractor.name: bound.config for bound in context.extractors}
    listed = {entry.layer for entry in recipe.config.annotate}
    configs |= {one.entry.layer: one.config for one in recipe.measurements if one.entry.layer in listed}
    resolved = resolved_yaml(recipe.expanded, configs)
    return RecipePlan(resolved, store, generation, state, context, tuple(sources))


def _rules(
    recipe: BoundRecipe, plan: RecipePlan, decisions: str | None
) -> tuple[RulesSummary | None, SafetyCoverage | None]:
    """What the rules decide on the latest generation, and the detector coverage of what they keep."""
    pinned = None
    if plan.generation is not None:
        pinned = pinned_rules(recipe, plan.store, plan.generation)
    if pinned is None or plan.generation is None:
        if decisions is not None:
            what = "the recipe has no rules" if plan.generation is not None else "nothing is ingested yet"
            raise WinnowError(f"--decisions {decisions}: there are no decisions, {what}")
        return None, None
    found = rule_decisions(recipe, plan.generation, pinned)
    if decisions is not None:
        with registered_file(plan.store.objects, DECISIONS, decisions, plan.generation.number):
            write_dropped(found, Path(decisions))
    return found.summary, found.coverage


def _json(
    plan: RecipePlan,
    scores: Sequence[PlannedScore],
    notes: list[str],
    rules: RulesSummary | None,
    coverage: SafetyCoverage | None,
) -> dict[str, Json]:
    return {
        "recipe": plan.resolved,
        "store": plan.store.root,
        "generation": None if plan.generation is None else plan.generation.number,
        "sources": planned_sources(plan.sources).to_json(),
        "pending_bytes": plan.pending_bytes,
        "scores": [one.to_json() for one in scores],
        "notes": notes,
        "rules": None if rules is None else rules.to_json(),
        "safety": None if coverage is None else coverage.to_json(),
    }


def _print_plan(
    plan: RecipePlan, scores: Sequence[PlannedScore], notes: list[str], left: str, console: Console
) -> None:
    console.print(f"store   {plan.store.root} ({plan.state})")
    console.print()
    print_sources(plan.sources, console)
    layers = {} if plan.generation is None else plan.generation.layers
    print_needs(scores, layers[layout.SAMPLES].shards if layout.SAMPLES in layers else 0, console)
    console.print(f"estimate  {left}")
    for note in notes:
        console.print(f"note      {note}")


def _estimate(plan: RecipePlan, left: Sequence[StageEstimate]) -> str:
    if not plan.pending_bytes:
        return "nothing to ingest" if left else "nothing to do"
    about = duration(next(stage.work_seconds for stage in left if stage.stage == "ingest"))
    return f"{byte_size(plan.pending_bytes)} to ingest: about {about} on one core, divided by the number of cores"
