"""Plans and draws a recipe's mixture and counts the tokens that it needs; existing measurements are reused."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.tokens import TOKENS_LAYER, TokensLayer
from winnow.pipelines.forgetting.purging import finish_purge
from winnow.pipelines.mix.laws import Laws, read_laws
from winnow.pipelines.mix.plans import (
    WHOLE,
    NewPlan,
    PlanRecord,
    drawn_share,
    find_plan,
    layers_read,
    planned_mixture,
    put_plan,
    request_key,
)
from winnow.pipelines.mix.tokens import TokensContext, load_tokens, missing_layers, pending_counts
from winnow.pipelines.mix.transforms import CountTokens
from winnow.pipelines.preflight.check import DecidedRules, preflight
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.row_layers import load_layers
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.leases.command_lease import one_command, writing_lease
from winnow.pipelines.store.leases.lease import require_lease
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.state import StoreState
from winnow.runners.engines.engine import Engine
from winnow.runners.facts.mixture import print_notes
from winnow.runners.stages.publishing import Outcome, publish
from winnow.runners.stages.recording import record_rows
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.runners.stages.running.stage_run import CompletedTasks, StageRun
from winnow.runners.stages.store_stages import current_state
from winnow.runners.terminal.progress.stage import inputs_of
from winnow.runners.terminal.tables import print_remarks
from winnow.schemas.errors import RecipeError, StageError, StoreError, WinnowError
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.problems import shown
from winnow.schemas.records import Generation

# Stricter than Fraction, which would exhaust memory on `1e-999999999`.
_SHARE = re.compile(r"(?P<number>[0-9]{1,9}(\.[0-9]{0,18}|/[1-9][0-9]{0,8})?|\.[0-9]{1,18})\s*(?P<percent>%?)")


@dataclass(frozen=True)
class Mixed:
    """A plan and its draw, which is in the store."""

    store: Store
    generation: Generation
    record: PlanRecord
    new: bool


@one_command()
def mix(
    recipe: BoundRecipe,
    engine: Engine,
    console: Console,
    sample: Fraction | None = WHOLE,
    *,
    show_notes: bool = True,
    all_notes: bool = False,
) -> Mixed:
    """Plan and draw a recipe's mixture.

    Args:
        recipe: The recipe.
        engine: The engine.
        console: Where progress is printed.
        sample: The share of the plan that is drawn; None for the one that already is.
        show_notes: Print the plan's notes; False if the caller prints the whole plan.
        all_notes: Print those on the scaling law in full, not in one line.

    Raises:
        RecipeError: The requested mixture is impossible, or duplicates raise an alarm.
    """
    with _disk_errors_located(recipe):
        mixed = _mix(recipe, engine, console, sample)
    if (of := mixed.record.plan.sample) != "1" and sample is None:
        said = f"{of} of the plan is drawn, and nothing else is taken; --sample 100% takes all of it"
        print_remarks(console, [said])
    if show_notes:
        print_notes(mixed.record.plan, console, recipe.file, all_notes=all_notes)
    return mixed


def _mix(recipe: BoundRecipe, engine: Engine, console: Console, sample: Fraction | None) -> Mixed:
    laws = read_laws(recipe)
    outcome = measure_tokens(recipe, engine, console)
    store, generation = outcome.store, outcome.generation
    if sample is None:
        sample = drawn_share(recipe, store, generation, laws)
    request = request_key(recipe, store, generation, laws, sample)
    existing = find_plan(store, request)
    if existing is not None:
        return Mixed(store, generation, existing, False)
    jobs = command_jobs(store, "mix", engine, console)
    with writing_lease(store.objects), _planned(recipe, store, generation, laws, sample, jobs) as planned:
        require_lease(store.objects)
        return Mixed(store, generation, put_plan(store, planned), True)


@one_command()
def plan_only(recipe: BoundRecipe, engine: Engine, console: Console, sample: Fraction = WHOLE) -> MixturePlan:
    """Plan a recipe's mixture without drawing it."""
    laws = read_laws(recipe)
    with _disk_errors_located(recipe):
        outcome = measure_tokens(recipe, engine, console)
        jobs = command_jobs(outcome.store, "mix", engine, console)
        with _planned(recipe, outcome.store, outcome.generation, laws, sample, jobs) as planned:
            return planned.plan


@contextmanager
def _disk_errors_located(recipe: BoundRecipe) -> Iterator[None]:
    """Report disk errors with a path: the error's own, or the store's."""
    try:
        yield
    except OSError as error:
        where = error.filename or recipe.store_address
        raise StageError(f"{where}: {error.strerror or error}; fix this and run the same command again") from None


def parse_sample(text: str) -> Fraction:
    """`1%`, `0.25 %` or `0.01` as a share."""
    written = _SHARE.fullmatch(text.strip())
    found = Fraction(0) if written is None else Fraction(written["number"]) / (100 if written["percent"] else 1)
    if not 0 < found <= 1:
        raise WinnowError(f"--sample {shown(text)}: expected a share above 0 and up to 100%, such as 1% or 0.01")
    return found


@contextmanager
def _planned(
    recipe: BoundRecipe, store: Store, generation: Generation, laws: Laws, sample: Fraction, jobs: Jobs
) -> Iterator[NewPlan]:
    pinned = pinned_rules(recipe, store, generation, more=layers_read(recipe))
    assert pinned is not None  # a mixture always reads layers
    with planned_mixture(recipe, pinned, generation, laws, sample, jobs) as planned:
        preflight(DecidedRules(recipe=recipe, rules=planned.rules))
        yield planned


def measure_tokens(recipe: BoundRecipe, engine: Engine, console: Console) -> Outcome:
    """Count the tokens of the latest generation with the recipe's tokenizer, and publish the result.

    Raises:
        RecipeError: The recipe has no mixture, or its tokenizer or edits cannot be used.
        StoreError: A layer that the edits read is not measured yet.
    """
    _ = recipe.rules
    layer = recipe.tokens
    if layer is None:
        raise RecipeError(f"{recipe.file}: has no 'mix'; add one to count tokens")
    operators = recipe.operators
    store = open_store(open_location(recipe.store_address))
    run = StageRun(console, engine, store, recipe=recipe)
    run.warm(recipe.config)
    with writing_lease(store.objects):
        finish_purge(store)
        state = current_state(recipe, store)
        load_layers(state, operators)
        if missing := missing_layers(state, layer):
            raise StoreError(
                f"{store.root}: {', '.join(missing)} must be measured before texts are edited; run: "
                f"winnow annotate {recipe.file}"
            )
        if count_texts(run, recipe, layer, state):
            return publish(run, recipe, state)
        return Outcome(store, require_latest_for(recipe, store), False)


def count_texts(run: StageRun, recipe: BoundRecipe, layer: TokensLayer, state: StoreState) -> bool:
    """Update the layer for the rows of the state; return whether some of it was newly written."""
    ran = CompletedTasks()
    if pending := pending_counts(state, layer):
        ran = run.tasks(
            TOKENS_LAYER,
            pending.lines,
            CountTokens(TokensContext(run.store, layer.bound, layer.columns)),
            state.held.begin(pending.missing),
            state.held,
            inputs_of(pending.samples),
        )
    if not load_tokens(recipe, state):
        raise StageError(f"{TOKENS_LAYER}: shards ended without a commit; run again")
    record_rows(run, state, "mix", TOKENS_LAYER, "mix.tokens", pending, ran)
    rows = state.layers[TOKENS_LAYER]
    return rows != state.held.layer(TOKENS_LAYER, rows.keys)
