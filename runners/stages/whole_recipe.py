"""Everything that a recipe asks for: the store, and where it says so the mixture and its exports."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.scores import try_scores
from winnow.pipelines.export.stage import Finished
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.exports import export, require_exports
from winnow.runners.stages.mixing import Mixed, mix, read_laws
from winnow.runners.stages.scoring import score
from winnow.runners.stages.store_stages import Outcome, run_all
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, load_recipe


@dataclass(frozen=True)
class Whole:
    """What `winnow run` made, or found standing."""

    outcome: Outcome  # of the store
    mixed: Mixed | None = None
    exported: tuple[Finished, ...] = ()


def run_whole(recipe: BoundRecipe, engine: Engine, console: Console, *, replace: bool = False) -> Whole:
    """Every stage that a recipe asks for, to the last file; what is wrong with it is said before the first."""
    config = recipe.config
    places = [config.store.path, *(source.root for source in config.sources), *(entry.path for entry in config.export)]
    engine.require_reachable(*map(config.located, places))
    if config.export and config.mix is None:
        raise RecipeError(
            f"{recipe.file}: 'export' writes a mixture and there is no 'mix'; write mix: {{}} for everything"
        )
    if config.mix is not None:
        read_laws(recipe)
    if config.export:
        require_exports(recipe)
    if config.score:
        try_scores(recipe.scores)
    outcome = run_all(recipe, engine, console, replace=replace)
    if config.score:
        scored = score(recipe, engine, console)
        outcome = Outcome(scored.store, scored.generation, outcome.new or scored.new)
    if config.mix is None:
        return Whole(outcome)
    if not config.export:
        mixed = mix(recipe, engine, console)
        return Whole(Outcome(mixed.store, mixed.generation, outcome.new or mixed.new), mixed)
    done = export(recipe, engine, console, replace=replace)
    new = outcome.new or done.mixed.new or any(one.new for one in done.finished)
    return Whole(Outcome(done.mixed.store, done.mixed.generation, new), done.mixed, done.finished)


def run(
    recipe: Recipe | str | Path, *, runner: str = "local", workers: int = 0, replace: bool = False, quiet: bool = True
) -> Outcome:
    """Bring the store that a recipe describes up to date, and its exports: what `winnow run` does, from Python.

    Args:
        recipe: A recipe, or the path of one.
        runner: `local`, `portable`, `spark`, `flink`, `dataflow` or `prism`.
        workers: Worker processes; 0 for one per core.
        replace: Ingest source files that have changed in place of what they were, and write over exports of other
            plans.
        quiet: Show no progress.

    Returns:
        The store and its generation; `new` says whether anything changed.
    """
    bound = bind(recipe if isinstance(recipe, Recipe) else load_recipe(recipe))
    return run_whole(bound, Engine(runner, workers), Console(highlight=False, quiet=quiet), replace=replace).outcome
