"""The pace of work, and how a status looks: what is left is smoothed, and no line is longer than the terminal."""

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.messages import assert_told
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.progress.pace import Pace, clock
from winnow.runners.terminal.progress.status import Status, bar
from winnow.runners.terminal.progress.status_line import StatusLine


@given(st.floats(0.5, 500), st.floats(0.2, 5), st.floats(10, 100_000))
def test_even_work_ends_when_it_says(began: float, step: float, whole: float) -> None:
    pace = Pace(began)
    for number in range(1, 40):
        passed = number * step
        if passed >= whole:
            break
        pace.update(began + passed, passed / whole)
        since = passed - step  # the first work that was done
        if number > 4 and since > 5.001 and whole < 900 * since and (since > 60.001 or passed / whole > 0.1501):
            assert pace.seconds_left == pytest.approx(whole - passed, rel=1e-6, abs=1e-6)


def test_what_is_left_is_smoothed_where_tasks_end_in_lumps() -> None:
    """1,000 s of work whose share moves only every 20 s: what is left never jumps up by more than a fifth."""
    pace = Pace(0.0)
    told = []
    for second in range(1, 900):
        pace.update(float(second), (second // 20 * 20) / 1000)
        if second > 300 and pace.seconds_left is not None:
            told.append((pace.seconds_left, 1000 - second))
    assert max(abs(left / true - 1) for left, true in told if true > 200) < 0.35
    assert all(later <= before * 1.2 for (before, _), (later, _) in pairwise(told))


def test_nothing_is_said_of_days_after_the_first_bytes() -> None:
    pace = Pace(0.0)
    for second in (1.0, 5.0, 10.0, 12.0):
        pace.update(second, 4e-7 * second)  # 690 hours, if it went on so
    assert pace.seconds_left is None
    pace.update(70.0, 0.11)
    assert pace.seconds_left is not None


def test_nothing_is_said_of_little_in_the_first_minute() -> None:
    """Of 140 kernels one is compiled after ten seconds: most of those were imports."""
    pace = Pace(0.0)
    for second in (10.0, 11.0, 12.0, 13.0):
        pace.update(second, (second - 9) / 140)
    assert pace.seconds_left is None
    pace.update(16.0, 22 / 140)
    assert pace.seconds_left is not None


def test_no_time_is_said_before_the_share_from_which_it_means_something(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("winnow.runners.terminal.progress.status_line.time.monotonic", lambda: now[0])
    status = [Status("kernels", (), 0.0, told_from=0.25)]
    line = StatusLine(TerminalConsole(quiet=True), status[0], lambda: status[0])
    told = []
    for tenth in range(1, 7):
        now[0], status[0] = 20.0 * tenth, Status("kernels", (), tenth / 20, told_from=0.25)
        line._ask()
        told.append(len(line._times()))
    assert told == [1, 1, 1, 1, 2, 2]  # elapsed alone, then what is left, too


MB = 1e6
FEW_LARGE = [60 * MB, 50 * MB, 40 * MB, 20 * MB, 10 * MB]
Trace = list[tuple[float, float]]
RECORDED: dict[str, Trace] = json.loads(Path(__file__).with_name("recorded_progress.json").read_text())
"""The share done by seconds in two runs with two workers each, on a machine that was busy: 4 files of 1 to 60 MB, and
150 of 50 kB to 1 MB. Workers began after minutes; the first file of the larger ones ended long before the second."""


def worked(
    files: list[float], *, beats: bool, start: float = 0.0, uneven: float = 0.0, files_a_task: int = 1
) -> tuple[Trace, float]:
    """The share done every half second, and the end, of two workers that read a megabyte a second, largest tasks first.

    Args:
        files: Their bytes.
        beats: Whether running tasks tell every second how far they are; else the share moves when one is committed.
        start: How many seconds pass before the first byte is read.
        uneven: How much the time for a byte differs between files: the deviation of its logarithm.
        files_a_task: How many files a task reads.
    """
    random = Random(0)
    tasks = sorted((files[at : at + files_a_task] for at in range(0, len(files), files_a_task)), key=sum, reverse=True)
    free = [start, start]
    spans: list[list[tuple[float, float, float]]] = []  # of each task, its files: their begin and end, and their bytes
    for task in tasks:
        worker = free.index(min(free))
        spans.append([])
        for size in task:
            begin = free[worker]
            free[worker] += size / MB * math.exp(random.gauss(0, uneven))
            spans[-1].append((begin, free[worker], size))
    trace = []
    for half in range(1, int(2 * max(free))):
        done = 0.0
        for span in spans:
            now, begun = half / 2, span[0][0]
            if now < span[-1][1]:  # the last beat
                now = begun + int(now - begun) if beats and now > begun else begun
            done += sum(size * min(1.0, max(0.0, (now - begin) / (end - begin))) for begin, end, size in span)
        trace.append((half / 2, min(done / sum(files), 0.99)))
    return trace, max(free)


def recorded(name: str) -> tuple[Trace, float]:
    """The share done in a run that was seen, and its end."""
    return RECORDED[name], RECORDED[name][-1][0]


def told(trace: Trace, end: float) -> list[tuple[float | None, float]]:
    """What is said to be left every ten seconds, and what is left."""
    pace = Pace(0.0)
    found: list[tuple[float | None, float]] = []
    for now, share in trace:
        pace.update(now, share)
        if now >= 10 * (len(found) + 1):
            found.append((pace.seconds_left, end - now))
    return found


@pytest.mark.parametrize(
    "run",
    [
        *(partial(recorded, name) for name in RECORDED),
        partial(worked, [4 * MB] * 100, beats=True),
        partial(worked, [20 * MB] * 20, beats=False),
        partial(worked, [*FEW_LARGE, *[MB] * 20], beats=False),
        partial(worked, [*FEW_LARGE, *[MB] * 20], beats=True),
        partial(worked, [*FEW_LARGE, 5 * MB, 5 * MB], beats=True, uneven=0.4),
        partial(worked, [200 * MB, *[MB] * 40], beats=True),
        partial(worked, [4 * MB] * 60, beats=True, start=20),
        partial(worked, [4 * MB] * 60, beats=True, uneven=0.8),
        partial(worked, [MB / 2] * 400, beats=True, uneven=1, files_a_task=50),
        partial(worked, [30 * MB] * 100, beats=False, uneven=0.3),
        partial(worked, [40 * MB] * 12, beats=False),
        partial(worked, [90 * MB] * 12, beats=False, uneven=0.4),
    ],
    ids=[
        *RECORDED,
        "even files",
        "even files without beats",
        "few large files without beats",
        "few large files",
        "few large files of other paces",
        "one huge file",
        "workers that start late",
        "files of other paces",
        "many files a task",
        "long tasks without beats",
        "slow workers in step",
        "slower ones nearly in step",
    ],
)
def test_the_time_left_holds(run: Callable[[], tuple[Trace, float]]) -> None:
    """It counts down: no ten seconds double what is said or halve it, and it is never far from true."""
    found = told(*run())
    pairs = [
        (before - 10, after) for (before, _), (after, _) in pairwise(found) if before is not None and after is not None
    ]
    assert pairs or len(found) < 12
    assert all(1 / 2 < max(before, 15) / max(after, 15) < 2 for before, after in pairs)
    assert all(0.35 < max(left, 10) / max(true, 10) < 3.2 for left, true in found if left is not None)
    late = [(left, true) for left, true in found[len(found) // 2 :] if left is not None]
    assert sum(0.5 < max(left, 10) / max(true, 10) < 2 for left, true in late) >= len(late) / 2


def test_a_faster_pace_is_noticed() -> None:
    pace = Pace(0.0)
    for second in range(1, 101):
        pace.update(float(second), second * 0.001)
    assert pace.seconds_left == pytest.approx(900, rel=1e-6)
    for second in range(101, 201):
        pace.update(float(second), 0.1 + (second - 100) * 0.005)
    assert pace.seconds_left is not None
    assert 79 < pace.seconds_left < 180  # 0.4 at 0.005 a second are 80 s; a hundred seconds before, 900 were left


def test_nothing_is_said_of_work_that_stalls_until_it_goes_on() -> None:
    pace = Pace(0.0)
    for second in range(1, 101):
        pace.update(float(second), second * 0.001)
    told = []
    for second in range(101, 301):
        pace.update(float(second), 0.1)
        told.append(pace.seconds_left)
    assert max(left for left in told if left is not None) < 100_000
    assert told[-1] is None
    for second in range(301, 401):
        pace.update(float(second), 0.1 + (second - 300) * 0.001)
    assert 800 < (pace.seconds_left or 0) < 3_000


def test_nothing_is_said_too_early_or_when_all_is_done() -> None:
    pace = Pace(0.0)
    assert pace.seconds_left is None
    pace.update(1.0, 0.5)
    assert pace.seconds_left is None
    pace.update(3.0, 1.0)
    assert pace.seconds_left is None


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (7.9, "0:07"), (754, "12:34"), (11_045, "3:04:05")])
def test_a_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@given(
    st.floats(0, 1) | st.none(),
    st.integers(20, 200),
    st.booleans(),
    st.lists(st.text(max_size=40), max_size=5),
    st.lists(st.text(max_size=90), max_size=2),
)
def test_no_line_is_longer_than_the_terminal(
    share: float | None, cells: int, unicode: bool, facts: list[str], more: list[str]
) -> None:
    facts, more = ([" ".join(one.split()) for one in texts] for texts in (facts, more))
    drawn = Status("annotate.cpu", tuple(facts), share, tuple(more)).drawn(cells, unicode, "0:07", "0:03 left")
    assert len(drawn.plain.split("\n")) == 1 + bool(more)
    assert all(cell_len(line) < cells for line in drawn.plain.split("\n"))


@given(st.floats(-1, 2), st.integers(4, 40))
def test_a_bar_is_as_full_as_the_work_is_done(share: float, cells: int) -> None:
    drawn = bar(share, cells, unicode=False)
    assert len(drawn) == cells
    assert drawn.plain.count("#") == int(cells * min(1.0, max(0.0, share)))
    assert len(bar(share, cells)) == cells


def test_a_line_for_a_pipe_has_everything() -> None:
    status = Status("ingest", ("3/6 tasks", "598 rows"), 0.451, ("in crawl", "dropped 4 (empty 4)"))
    assert_told(status.line("0:10", "0:12 left"), "45 %", "3/6", "598 rows", "0:10", "0:12", "dropped 4", whole=True)
