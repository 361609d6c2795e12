"""What each command does: a function a command, each a few lines over the stages and the views."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.lease import Lease
from winnow.pipelines.store.location import open_location
from winnow.runners.engines import Engine, named_engine, parse_workers
from winnow.runners.planning import print_plan
from winnow.runners.report import render_report
from winnow.runners.stages import Outcome
from winnow.runners.stages import ingest as run_ingest
from winnow.runners.summarise import examples_of, summarise
from winnow.runners.tables import print_stats, print_summary
from winnow.schemas.errors import StoreError, WinnowError
from winnow.schemas.recipe import Recipe, load_recipe

REPORT = "report.html"


def demo(options: argparse.Namespace) -> int:
    """`winnow demo`."""
    from winnow.runners.demo.command import run_demo

    console = _console()
    recipe, outcome = run_demo(Path(options.into), _engine(options), console)
    _finish(recipe, outcome, console)
    return 0


def run(options: argparse.Namespace) -> int:
    """`winnow run`: every stage there is, then the report."""
    console = _console()
    recipe = load_recipe(options.recipe)
    outcome = run_ingest(recipe, _engine(options), console, replace=options.replace)
    _finish(recipe, outcome, console)
    return 0


def ingest(options: argparse.Namespace) -> int:
    """`winnow ingest`."""
    console = _console()
    recipe = load_recipe(options.recipe)
    outcome = run_ingest(recipe, _engine(options), console, replace=options.replace)
    print_summary(summarise(outcome.store, outcome.generation), console)
    return 0


def plan(options: argparse.Namespace) -> int:
    """`winnow plan`."""
    print_plan(load_recipe(options.recipe), _console())
    return 0


def audit(options: argparse.Namespace) -> int:
    """`winnow audit`: 0 when everything is proved, 1 when something is wrong."""
    from winnow.runners.audit import audit_store, print_findings

    recipe, store = _place(options.place)
    findings = audit_store(store, None if options.store_only else recipe)
    return print_findings(findings, _console(), as_json=options.json)


def stats(options: argparse.Namespace) -> int:
    """`winnow stats`."""
    _, store = _place(options.place)
    summary = summarise(store, store.require_latest())
    if options.json:
        sys.stdout.write(summary.to_json().decode() + "\n")
    else:
        print_stats(summary, _console())
    return 0


def report(options: argparse.Namespace) -> int:
    """`winnow report`."""
    _, store = _place(options.place)
    target = Path(options.output or Path(store.root) / REPORT)
    write_report(store, target)
    _console().print(f"report  {target}", soft_wrap=True)
    return 0


def gc(options: argparse.Namespace) -> int:
    """`winnow gc`."""
    if options.keep < 1:
        raise WinnowError(f"--keep {options.keep}: the latest generation is always kept; expected 1 or more")
    _, store = _place(options.place)
    with Lease(store.objects):
        gone = collect_garbage(store, options.keep, dry_run=options.dry_run)
    word = "would drop" if options.dry_run else "dropped"
    _console().print(
        f"{word} {gone.generations} generations, {gone.objects} objects, {gone.commits} commits "
        f"({gone.bytes:,} bytes) and {gone.unfinished} unfinished files"
    )
    return 0


def write_report(store: Store, target: Path) -> None:
    """Make the page and put it where it was asked for."""
    generation = store.require_latest()
    page = render_report(summarise(store, generation), examples_of(store, generation))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")


def _finish(recipe: Recipe, outcome: Outcome, console: Console) -> None:
    store = outcome.store
    target = Path(store.root) / REPORT
    write_report(store, target)
    print_summary(summarise(store, outcome.generation), console)
    console.print(f"store   {store.root}  (generation {outcome.generation.number})", soft_wrap=True)
    console.print(f"report  {target}", soft_wrap=True)
    console.print(f"next    winnow stats {recipe.file}; winnow audit {recipe.file}", soft_wrap=True)


def _place(place: str) -> tuple[Recipe | None, Store]:
    """A recipe and its store, or a store alone."""
    if Path(place).is_dir() or "://" in place:
        return None, open_store(open_location(place))
    if not Path(place).exists():
        raise StoreError(f"{place}: neither a recipe file nor a store's folder")
    recipe = load_recipe(place)
    return recipe, open_store(open_location(recipe.located(recipe.store.path)))


def _engine(options: argparse.Namespace) -> Engine:
    return named_engine(options.runner, parse_workers(options.workers), options.beam)


def _console() -> Console:
    return Console(highlight=False)
