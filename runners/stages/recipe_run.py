"""Runs a whole recipe: the store, and the mixture and exports if the recipe has them."""

from fractions import Fraction
from pathlib import Path

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.sources import source_root
from winnow.pipelines.mix.plans import WHOLE
from winnow.pipelines.preflight.check import AskedScores, ExportFolders, WholeRecipe, preflight
from winnow.pipelines.store.leases.command_lease import one_command
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.exports.recipe_exports import export
from winnow.runners.stages.fetching import ALL, Wanted, fetch, fetching_part
from winnow.runners.stages.finished_run import RecipeRun
from winnow.runners.stages.mixing import mix
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.reached import Reached
from winnow.runners.stages.rule_decisions import decisions_if_any
from winnow.runners.stages.run_summary import print_unfinished_run
from winnow.runners.stages.scoring import score
from winnow.runners.stages.store_stages import run_all
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.tables import print_remarks
from winnow.schemas.recipe import Recipe, load_recipe


@one_command()
def run_recipe(
    recipe: BoundRecipe,
    engine: Engine,
    console: Console,
    *,
    replace: bool = False,
    all_notes: bool = False,
    sample: Fraction = WHOLE,
    wanted: Wanted = ALL,
) -> RecipeRun:
    """Run all stages of a recipe. Errors in the recipe are reported before the first stage.

    If a stage fails, or the run is interrupted, a report is written of what the earlier stages published, before the
    error is raised. `replace`: ingest changed source files again in place of their old records, and replace exports of
    other plans. `all_notes`: print the notes on the scaling law in full. `sample`: the share of the mixture that is
    drawn and exported. `wanted`: what is fetched of sources that are, and how.
    """
    config = recipe.config
    is_left = any(source.is_fetched for source in config.sources)
    if is_left and (first := fetching_part(recipe)) is not recipe:  # the rest can be bound only after it
        print_remarks(console, preflight(WholeRecipe(recipe=first, last="ingest")))
        fetch(first, engine, console, wanted)
        is_left = False
    print_remarks(console, preflight(WholeRecipe(recipe=recipe)))
    places = [config.located(path) for path in (config.store.path, *(entry.path for entry in config.export))]
    engine.require_reachable(*places, *(source_root(config, source) for source in config.sources))
    preflight(AskedScores(recipe=recipe, scores=recipe.scores))  # what is noted is printed when they are computed
    folders = ExportFolders(recipe=recipe, replace=replace, sample=sample)
    said = preflight(folders)
    print_remarks(console, said)
    reached = Reached()
    try:
        if is_left:
            reached.begin("fetch")
            fetch(recipe, engine, console, wanted)
            recipe.renew()
        return _run_stages(folders, engine, console, reached, said=bool(said), all_notes=all_notes)
    except (Exception, KeyboardInterrupt) as error:
        print_unfinished_run(recipe, engine, console, reached, error)
        raise


def _run_stages(
    folders: ExportFolders, engine: Engine, console: Console, reached: Reached, *, said: bool, all_notes: bool
) -> RecipeRun:
    recipe, replace, sample = folders.recipe, folders.replace, folders.sample
    config = recipe.config
    outcome = run_all(recipe, engine, console, replace=replace, reached=reached)
    if outcome.new and not said:  # what is there has changed, so the plan that an export has is no longer the latest
        print_remarks(console, preflight(folders))
    if config.score:
        reached.begin("score")
        scored = score(recipe, engine, console)
        outcome = Outcome(scored.store, scored.generation, outcome.new or scored.new)
    if config.mix is None:
        _require_decided(recipe, engine, console, outcome, reached)
        return RecipeRun(outcome)
    if not config.export:
        reached.begin("mix")
        mixed = mix(recipe, engine, console, sample, all_notes=all_notes)
        return RecipeRun(Outcome(mixed.store, mixed.generation, outcome.new or mixed.new), mixed)
    done = export(recipe, engine, console, sample, replace=replace, keep=True, reached=reached, all_notes=all_notes)
    new = outcome.new or done.mixed.new or any(one.new for one in done.finished)
    return RecipeRun(Outcome(done.mixed.store, done.mixed.generation, new), done.mixed, done.finished)


def _require_decided(recipe: BoundRecipe, engine: Engine, console: Console, outcome: Outcome, reached: Reached) -> None:
    """Raise UndecidedError if a rule cannot be decided for a row, as `mix` does where there is a mixture."""
    reached.begin("rules")
    decisions = decisions_if_any(recipe, outcome.store, outcome.generation, engine, console)
    if decisions is not None and decisions.rules:
        _ = decisions.summary


def run(
    recipe: Recipe | str | Path, *, runner: str = "local", workers: int = 0, replace: bool = False, quiet: bool = True
) -> Outcome:
    """Update a recipe's store and exports, like `winnow run`.

    Args:
        recipe: A recipe or its path.
        runner: `local`, `portable`, `spark`, `flink`, `dataflow` or `prism`.
        workers: Worker processes; 0 for one per core.
        replace: Ingest changed source files again, replacing their old records, and replace exports of other plans.
        quiet: Show no progress.

    Returns:
        The store and its generation; `new` says whether anything changed.
    """
    bound = bind(recipe if isinstance(recipe, Recipe) else load_recipe(recipe))
    return run_recipe(bound, Engine(runner, workers), TerminalConsole(quiet=quiet), replace=replace).outcome
