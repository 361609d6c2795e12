"""The sources of `winnow plan`: their files, and the tasks that ingest has done and has to do."""

from collections.abc import Sequence

from rich.console import Console

from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.running.ledger.ingest_tasks import IngestTask, IngestTasks
from winnow.pipelines.store.hash_set import HashSet
from winnow.runners.tables.table import Column, Table, heads, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, REASON, WORDS, Unit
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.counts import count_of

FIRST_TASKS = 8
FIRST_PATHS = 3

Planned = tuple[SourcePlan, IngestTasks]
"""A source, and its unfinished tasks."""


def _some(paths: Sequence[str]) -> str:
    return f"{len(paths):,}: {', '.join(paths[:FIRST_PATHS])}{', …' if paths[FIRST_PATHS:] else ''}" if paths else ""


PATHS = Unit(_some, number=False, whole=True)
SOURCES: tuple[Column[Planned], ...] = (
    Column("source", NAME, lambda one: one[0].name, "name"),
    Column("files", COUNT, lambda one: len(one[0].listing.files)),
    Column("size", BYTES, lambda one: one[0].listing.bytes, "bytes"),
    Column("tasks", COUNT, lambda one: len(one[0].intake.tasks)),
    Column("to do", COUNT, lambda one: len(one[1]), "pending"),
    Column("changed since ingested", PATHS, lambda one: one[0].intake.changed, "changed"),
    Column("gone, rows kept", PATHS, lambda one: one[0].intake.vanished, "vanished"),
)


def planned_sources(sources: Sequence[Planned]) -> Table:
    """The amounts of each source, and its files that differ from what was ingested."""
    return table("Sources", SOURCES, sources)


def print_sources(sources: Sequence[Planned], console: Console) -> None:
    """Print the sources, and the first tasks of each."""
    differing = planned_sources(sources).filled("changed since ingested", "gone, rows kept")
    print_tables(console, differing, *(_tasks(source, pending) for source, pending in sources))


def _tasks(source: SourcePlan, pending: IngestTasks) -> Table:
    unfinished, tasks = HashSet(pending.names), source.intake.tasks
    rows = [("to do" if task.name in unfinished else "done", task.name, _reads(task)) for task in tasks[:FIRST_TASKS]]
    count = f"the first {FIRST_TASKS} of {len(tasks):,} tasks" if len(tasks) > FIRST_TASKS else "tasks"
    return Table(f"{source.name}: {count}", heads(("state", WORDS), ("task", REASON), ("reads", REASON)), rows)


def _reads(task: IngestTask) -> str:
    part = task.files[0].part
    if len(task.files) > 1:
        return f"{count_of(len(task.files), 'file')} from {part.path}"
    return part.path if part.whole else f"{part.path} [{part.start:,}, {part.end:,})"
