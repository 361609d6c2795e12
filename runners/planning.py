"""`winnow plan`: the recipe as it will be understood, the tasks, and an estimate, from listings alone."""

from rich.console import Console
from rich.markup import escape

from winnow.pipelines.ingest.binding import ingest_context, store_record
from winnow.pipelines.ingest.stage import SourcePlan, committed_names, look_at_sources
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.quantities import byte_size
from winnow.schemas.errors import StoreError
from winnow.schemas.recipe import Recipe, resolved_yaml

BYTES_PER_SECOND = {"fast": 3.5e6, "precise": 0.3e6, "none": 20e6}
"""Compressed input that one core takes in, by the slowest extractor asked for; measured by `benchmarks.ingest`."""

FIRST_TASKS = 8


def print_plan(recipe: Recipe, console: Console) -> None:
    """Print what a run would do. Writes nothing, not even a store."""
    objects = open_location(recipe.located(recipe.store.path))
    try:
        store = open_store(objects)
        state = f"generation {store.generation_numbers()[-1]}" if store.generation_numbers() else "nothing ingested yet"
    except StoreError:
        store = Store(objects, store_record(recipe))
        state = "does not exist yet"
    context = ingest_context(recipe, store)
    plans = look_at_sources(context, {source.name: source.files for source in recipe.sources})
    configs = {bound.extractor.name: bound.config for bound in context.extractors}
    console.print(escape(resolved_yaml(recipe, configs)), end="", soft_wrap=True)
    console.print(f"\nstore   {store.root} ({state})", soft_wrap=True, markup=False)
    owed_bytes = 0
    for plan in plans:
        done = committed_names(objects, layout.SAMPLES, plan.key)
        owed = [task for task in plan.look.tasks if task.name not in done]
        owed_bytes += sum(task.bytes for task in owed)
        _print_source(console, plan, {task.name for task in owed})
    console.print(f"\nestimate  {_estimate(recipe, owed_bytes)}", markup=False)


def _print_source(console: Console, plan: SourcePlan, owed: set[str]) -> None:
    files, tasks = len(plan.listing.files), plan.look.tasks
    console.print(
        f"\nsource  {plan.name}: {files:,} files, {byte_size(plan.listing.bytes)}; "
        f"{len(tasks):,} tasks, {len(owed):,} to do",
        markup=False,
    )
    for task in tasks[:FIRST_TASKS]:
        mark = "to do" if task.name in owed else "done"
        part = task.files[0].part
        where = part.path if len(task.files) == 1 else f"{len(task.files):,} files from {part.path}"
        cut = "" if part.whole or len(task.files) > 1 else f" [{part.start:,}, {part.end:,})"
        console.print(f"  {mark:<6}{task.name}  {where}{cut}", soft_wrap=True, markup=False)
    if len(tasks) > FIRST_TASKS:
        console.print(f"  … and {len(tasks) - FIRST_TASKS:,} more")
    for paths, text in (
        (plan.look.changed, "changed since they were ingested"),
        (plan.look.vanished, "no longer there; their rows stay"),
    ):
        if paths:
            console.print(f"  {len(paths):,} files {text}: {', '.join(paths[:3])}", soft_wrap=True, markup=False)


def _estimate(recipe: Recipe, owed: int) -> str:
    if not owed:
        return "nothing to ingest"
    names = {entry.name for entry in recipe.extract}
    slowest = "precise" if names - {"fast"} else "fast" if names else "none"
    seconds = owed / BYTES_PER_SECOND[slowest]
    return f"{byte_size(owed)} to ingest: about {_duration(seconds)} of one core, divided by the cores that you give it"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
