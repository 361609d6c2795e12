"""The output at the end of a run: the store, the rules, the mixture, and what to do next."""

import shlex
from dataclasses import replace

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import NoStoreError
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.failures import system_error
from winnow.runners.facts.examples import UnfinishedRun
from winnow.runners.facts.exports import print_exports
from winnow.runners.facts.mixture import print_plan_line
from winnow.runners.facts.rules import print_rules
from winnow.runners.facts.store import print_summary
from winnow.runners.stages.finished_run import RecipeRun
from winnow.runners.stages.reached import Reached
from winnow.runners.stages.reports.writing import write_report, write_report_of_records
from winnow.runners.terminal.tables import print_line
from winnow.schemas.errors import WinnowError, is_interrupted_query


def print_unfinished_run(
    recipe: BoundRecipe, engine: Engine, console: Console, reached: Reached, error: BaseException
) -> None:
    """Write the report of what exists after a stage has failed, and print the effect of the rules, which often
    explains it."""
    run = UnfinishedRun(reached.now, _why(error), tuple(reached.done))
    print_line(console, f"stopped in {reached.now}" if reached.now else "stopped before the first stage")
    if isinstance(error, KeyboardInterrupt):
        print_line(console, "report  writing the page of what is there; interrupt again to leave it out")
    rules = None
    try:
        store = open_store_at(recipe.store_address)
    except NoStoreError:  # the stage that makes one has not begun
        print_line(console, "report  none: nothing is ingested yet")
        return
    except (WinnowError, OSError) as problem:
        print_line(console, f"report  none: {_first_line(problem)}")
        return
    try:
        if store.latest_record() is None:
            write_report_of_records(store, recipe, run)
        else:
            _, rules = write_report(store, None, recipe, engine, console, unfinished=run)
    except (WinnowError, OSError) as problem:  # the same may have stopped the stage, whose error follows
        try:
            write_report_of_records(store, recipe, replace(run, unread=_first_line(problem)))
        except (WinnowError, OSError) as refused:
            # Nowhere else: what a crawl says lies in the store alone, where `forget` and `gc --purge` reach it.
            again = f"to write it: winnow report {shlex.quote(recipe.file)}"
            print_line(console, f"report  none, as the store takes no page: {_first_line(refused)}; {again}")
            return
    if rules is not None:
        print_rules(rules, console)
    console.print(f"report  {store.root}/{layout.REPORT}")


def _why(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt) or is_interrupted_query(error):
        return "it was interrupted"
    if isinstance(error, OSError):
        return system_error(error)
    return (str(error).splitlines() or [type(error).__name__])[0]


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0]


def print_run_summary(recipe: BoundRecipe, whole: RecipeRun, engine: Engine, console: Console) -> None:
    """Write the report, and print where the results are."""
    outcome = whole.outcome
    store = outcome.store
    plan = None if whole.mixed is None else whole.mixed.record.plan
    print_line(console, "report  counting what the rules keep, and writing the page")
    summary, rules = write_report(store, None, recipe, engine, console, plan=plan)
    print_summary(summary, console)
    if rules is not None:
        print_rules(rules, console)
    if whole.mixed is not None:
        textless = 0 if rules is None else sum(rules.textless.values())
        print_plan_line(whole.mixed.record.plan, console, textless)
    print_exports(whole.exported, console)
    console.print(f"store   {store.root}  (generation {outcome.generation.number})")
    console.print(f"report  {store.root}/{layout.REPORT}")
    commands = ["plan", "stats", "audit"] if recipe.config.annotate else ["stats", "audit"]
    following = "; ".join(f"winnow {command} {shlex.quote(recipe.file)}" for command in commands)
    console.print(f"next    {following}")
