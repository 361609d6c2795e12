"""What processes of machines say of them, before anything is read."""

import shutil
import threading
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from winnow.pipelines.running.version_handshake import versions_here
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.location import open_location
from winnow.runners.stages.running import node_checks
from winnow.runners.stages.running.node_checks import CheckNode, NodeCheck, NodeReport, PutReport, _print
from winnow.schemas.errors import StageError
from winnow.schemas.records import StoreRecord, from_json, to_json


@pytest.fixture
def check(tmp_path: Path) -> NodeCheck:
    store = create_or_open(
        open_location(str(tmp_path / "store")), StoreRecord("store", 7, 64, 1 << 20, 16, 1 << 20, 1 << 20)
    )
    return NodeCheck(store, "scratch/nodes", frozenset(), versions_here())


def test_two_tasks_at_once_look_at_the_machine_once(check: NodeCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_checks, "_checked", set())
    together, said = threading.Barrier(8), list[bytes]()

    def task() -> None:
        together.wait()
        said.extend(CheckNode(check).process(0))

    tasks = [threading.Thread(target=task) for _ in range(8)]
    for one in tasks:
        one.start()
    for one in tasks:
        one.join()
    (report,) = (from_json(NodeReport, one, "said") for one in said)
    assert report.problems == ()


def test_a_problem_of_one_process_is_one_of_its_machine(check: NodeCheck) -> None:
    for report in (
        NodeReport("one", (), 3, "1-a"),
        NodeReport("one", ("no room",), 0, "1-b"),
        NodeReport("one", ("no room", "no store"), 0, "2-a"),
        NodeReport("two", (), None, "1-c"),
        NodeReport("two", (), 5, "1-d"),
    ):
        check.put(report)
        check.put(report)  # as a task that is tried again does
    assert [(one.host, set(one.problems), one.kernels) for one in check.reports()] == [
        ("one", {"no room", "no store"}, 3),
        ("two", set(), None),
    ]


def test_a_machine_says_what_it_lacks(check: NodeCheck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    well = check.report()
    assert (well.problems, well.kernels) == ((), 0)  # the recipe names nothing that kernels are for
    (unlike,) = replace(check, driver="of another version").report().problems
    assert unlike
    record = StoreRecord("store", 7, 64, 1 << 60, 16, 1 << 20, 1 << 20)
    huge = create_or_open(open_location(str(tmp_path / "huge")), record)
    (room,) = replace(check, store=huge).report().problems
    assert f"{1 << 41:,} MiB" in room  # two shards
    assert replace(check, store=huge).report().kernels == 0
    monkeypatch.setattr(node_checks, "put_at", lambda *_: time.time() - 500)
    (clock,) = check.report().problems
    assert "500 s ahead" in clock
    monkeypatch.setattr(node_checks, "put_at", lambda *_: time.time() + 299)
    assert check.report().problems == ()
    monkeypatch.setattr(node_checks, "put_at", lambda *_: time.time() + 302)
    assert "behind" in check.report().problems[0]
    assert not [*check.store.objects.list(f"{check.scratch}/probes/")]


def test_a_report_that_cannot_be_put_names_its_machine(check: NodeCheck, tmp_path: Path) -> None:
    report = NodeReport("far", (), 2, "1-a")
    assert [*PutReport(check).process(to_json(report))] == ["far"]
    assert check.reports() == [report]
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(StageError, match="the store cannot be used"):
        [*PutReport(check).process(to_json(report))]


def test_machines_that_compile_first_are_told() -> None:
    reports = [NodeReport(f"m{number}", (), kernels) for number, kernels in enumerate((0, 120, None, 600, 0, 0, 0, 0))]
    said = Console(file=StringIO(), width=200)
    _print(reports, said)
    assert isinstance(said.file, StringIO)
    first, *more = said.file.getvalue().splitlines()
    assert "8 machines ready: m0, m1, m2, m3, m4, m5 and 2 more" in first
    assert [line.split()[1] for line in more] == ["m1:", "m2:", "m3:"]
    assert "120 kernels" in more[0]
    assert "1 min" in more[0]
    assert "NUMBA_CACHE_DIR" in more[1]
    assert "5 min" in more[2]
