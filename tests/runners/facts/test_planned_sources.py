"""The sources of a plan: one table for the terminal and for programs, and the first tasks of each source."""

import io

from rich.console import Console

from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.running.ledger.ingest_tasks import IngestTask, IngestTasks, TaskFile
from winnow.pipelines.running.ledger.intake import IntakePlan
from winnow.pipelines.running.ledger.listings import ListedFiles, Listing
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.facts.planned_sources import FIRST_TASKS, Planned, planned_sources, print_sources
from winnow.schemas.records import FilePart


def planned(tasks: int, pending: int, changed: tuple[str, ...] = (), vanished: tuple[str, ...] = ()) -> Planned:
    """A source of ten bytes a task, the last of which are to do."""
    parts = [FilePart(f"{number}.txt", 10, 0, 10) for number in range(tasks)]
    all_ = IngestTasks.of("s", [IngestTask(f"t{at}", "s", (TaskFile(part, ""),)) for at, part in enumerate(parts)])
    listing = Listing("s", ListedFiles.of(ObjectInfo(part.path, 10, "") for part in parts))
    intake = IntakePlan(1, all_, all_[:0], (), changed, vanished)
    return SourcePlan("s", listing, intake, "k"), all_[tasks - pending :]


def printed(*sources: Planned) -> list[list[str]]:
    told = io.StringIO()
    print_sources(sources, Console(markup=False, soft_wrap=True, file=told, width=200))
    return [[cell for cell in line.split("  ") if cell] for line in told.getvalue().splitlines()]


def test_programs_get_the_values() -> None:
    paths = ("a", "b", "c", "d")
    assert planned_sources([planned(3, 1, paths)]).to_json() == [
        {"name": "s", "files": 3, "bytes": 30, "tasks": 3, "pending": 1, "changed": paths, "vanished": ()}
    ]


def test_files_that_differ_are_named_only_where_some_do() -> None:
    assert printed(planned(1, 0))[1] == ["source", "files", "size", "tasks", "to do"]
    lines = printed(planned(1, 0, ("a", "b", "c", "d"), ("e",)))
    assert lines[1][5:] == ["changed since ingested", "gone, rows kept"]
    assert [cell.strip() for cell in lines[3]] == ["s", "1", "10 B", "1", "0", "4: a, b, c, …", "1: e"]


def test_the_first_tasks_are_listed_with_what_is_done() -> None:
    lines = printed(planned(FIRST_TASKS + 2, FIRST_TASKS))
    at = lines.index([f"s: the first {FIRST_TASKS} of {FIRST_TASKS + 2} tasks"])
    rows = [[cell.strip() for cell in line] for line in lines[at + 3 :] if line]
    assert len(rows) == FIRST_TASKS
    assert rows[1:3] == [["done", "t1", "1.txt"], ["to do", "t2", "2.txt"]]
