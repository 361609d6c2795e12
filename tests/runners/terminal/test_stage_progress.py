"""The progress of a stage: what is counted of commits and of running tasks, and which share that is."""

from collections import Counter
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from winnow.pipelines.store.memory import MemoryStore
from winnow.runners.terminal.progress.stage import StageProgress, Tally, TaskInput, prefix_of, ranked_reasons
from winnow.schemas.records import LayerPart, LayersCommit, ObjectRecord, TaskCommit

COMMIT = TaskCommit("t", "k", "web", (), (), None, None, 9, 5, {"short": 3}, {"damaged": 1}, 77, "f")
OBJECT = ObjectRecord("p", 8, 1, "h")
LAYERS = LayersCommit("s", "web", "p", "q", (LayerPart("text.length", "k", OBJECT),), "f")


def progress(inputs: dict[str, TaskInput], tasks: int = 4) -> StageProgress:
    names = {f"t{number}": f"commits/{number % 2}/{number}.json" for number in range(tasks)}
    return StageProgress(Console(file=StringIO()), MemoryStore("progress"), "ingest", names, inputs, lambda _: None)


def test_what_commits_and_running_tasks_have_done_is_summed() -> None:
    shown = progress({f"t{number}": TaskInput("web", bytes=100) for number in range(4)})
    shown._count("t0", COMMIT)
    shown._count("t3", replace(COMMIT, kept=2, dropped_by_reason={"short": 1, "adult": 9}, quarantined_by_reason={}))
    shown._count("t1", LAYERS)
    status = shown._status(Tally(rows=1, bytes=50), ("web",))
    assert status.facts[:2] == ("3/4 tasks", "16 rows")
    assert status.share == pytest.approx(0.875)
    assert status.more == ("in web", "dropped 13 (adult 9, short 4)", "quarantined 1 (damaged 1)")
    many = shown._status(Tally(), ("a", "b", "c", "d"))
    assert (many.more[0], shown._status(Tally(), ("a", "b", "c")).more[0]) == ("in a, b, c, …", "in a, b, c")


@pytest.mark.parametrize(
    ("inputs", "running", "share"),
    [
        (TaskInput("web", bytes=100, rows=1), Tally(rows=9, bytes=40), 0.35),
        (TaskInput("web", rows=5), Tally(rows=5), 0.5),
        (None, Tally(rows=9, bytes=9), 0.25),
        (TaskInput("web", bytes=100), Tally(bytes=900), 0.99),
    ],
)
def test_the_share_is_of_bytes_or_of_rows_or_of_tasks(inputs: TaskInput | None, running: Tally, share: float) -> None:
    shown = progress({} if inputs is None else {f"t{number}": inputs for number in range(4)})
    shown._count("t2", COMMIT)
    assert shown._status(running, ()).share == pytest.approx(share)


def test_all_is_done_when_each_task_is_committed() -> None:
    shown = progress({"t0": TaskInput("web", bytes=100)}, tasks=2)
    shown._count("t0", COMMIT)
    assert shown._status(Tally(), ()).share == 0.99
    shown._count("t1", COMMIT)
    assert shown._status(Tally(), ()).share == 1.0
    assert progress({}, tasks=0)._status(Tally(), ()).share == 1.0


def test_the_most_frequent_reasons_are_named() -> None:
    assert ranked_reasons({"b": 2, "a": 2, "c": 1_000}) == "c 1,000, a 2, b 2"
    assert ranked_reasons(Counter("aabbbcde")) == "b 3, a 2, c 1, d 1, …"
    assert ranked_reasons(Counter("abcd")) == "a 1, b 1, c 1, d 1"
    assert prefix_of("commits/a/b.json") == "commits/a/"
