"""Opens what commands need: the terminal, the engine, and the store of a recipe."""

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.pipelines.preflight.check import Stage
    from winnow.pipelines.running.job_tasks import Jobs
    from winnow.pipelines.store.generations import Store
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.publishing import Outcome
    from winnow.runners.stages.slices import Slice, SliceDone
    from winnow.schemas.summary import StoreSummary


def open_console(*, quiet: bool = False, stderr: bool = False) -> "Console":
    """The terminal; a quiet one prints nothing."""
    from winnow.runners.terminal.console import TerminalConsole

    return TerminalConsole(quiet=quiet, stderr=stderr)


def begin(command: str, what: str, *, quiet: bool = False) -> "Console":
    """The terminal, with a first line at once: only then is loaded what takes seconds, such as Beam."""
    from winnow.runners.terminal.progress.status_line import waiting

    console = open_console(quiet=quiet)
    console.print(f"{command:<7} {what}")
    with waiting(console, command, "loading Beam and the operators"):
        import_module("winnow.runners.stages.recipe_run")
    return console


def open_engine(options: argparse.Namespace) -> "Engine":
    """The engine selected by `--runner`, `--workers` and Beam's flags."""
    from winnow.runners.engines.engine import named_engine
    from winnow.runners.engines.names import parse_workers

    return named_engine(options.runner, parse_workers(options.workers), options.beam)


def open_jobs(options: argparse.Namespace, store: "Store", stage: str, *, quiet: bool = False) -> "Jobs":
    """Where the jobs of a command run that is no stage of a recipe; `quiet` shows no progress."""
    from winnow.runners.stages.running.command_jobs import command_jobs

    return command_jobs(store, stage, open_engine(options), open_console(quiet=quiet))


def bound_recipe(file: str | Path) -> "BoundRecipe":
    """The recipe of a command, bound once for all that it does."""
    from winnow.pipelines.binding.bound_recipe import bind
    from winnow.schemas.recipe import load_recipe

    return bind(load_recipe(file))


def ready_recipe(console: "Console", file: str | Path, stage: "Stage") -> "BoundRecipe":
    """The recipe of a command that runs one stage; what would fail in it is an error before it begins."""
    from winnow.pipelines.preflight.check import WholeRecipe, preflight
    from winnow.runners.terminal.tables import print_remarks

    recipe = bound_recipe(file)
    print_remarks(console, preflight(WholeRecipe(recipe=recipe, last=stage)))
    return recipe


def run_stage(
    recipe: "BoundRecipe",
    options: argparse.Namespace,
    console: "Console",
    whole: "Callable[[BoundRecipe, Engine, Console], Outcome]",
    show: "Callable[[StoreSummary, Console], None]",
    of_slice: "Callable[[BoundRecipe, Slice, Engine, Console], SliceDone] | None" = None,
) -> int:
    """Run a stage and show what the store holds then, or run the slice of its tasks that `--tasks` names."""
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.rule_decisions import decisions_if_any
    from winnow.runners.stages.slices import parse_slice
    from winnow.runners.terminal.tables import print_line

    if of_slice is not None and options.tasks is not None:
        done = of_slice(recipe, parse_slice(options.tasks), open_engine(options), console)
        print_line(console, done.line(recipe))
        return 0
    engine = open_engine(options)
    outcome = whole(recipe, engine, console)
    if outcome.new:
        decisions_if_any(recipe, outcome.store, outcome.generation, engine, console)  # kept for commands that read
    show(summarise(outcome.store, outcome.generation, recipe, engine, console), console)
    return 0


def store_of(recipe: "BoundRecipe") -> "Store":
    """The store of a recipe, which must exist."""
    from winnow.pipelines.store.location import open_store_at

    return open_store_at(recipe.store_address)


def open_place(place: str) -> "tuple[BoundRecipe | None, Store]":
    """Open a recipe and its store, or a store without a recipe."""
    from winnow.pipelines.store.location import open_store_at

    if Path(place).is_dir() or "://" in place:
        return None, open_store_at(place)
    if not Path(place).exists():
        raise StoreError(f"{place}: expected a recipe file or a store folder, but nothing exists there")
    recipe = bound_recipe(place)
    return recipe, store_of(recipe)
