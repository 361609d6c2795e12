"""What processes of machines say of them, before anything is read."""

import threading
from pathlib import Path

import pytest

from winnow.pipelines.running.version_handshake import versions_here
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.location import open_location
from winnow.runners.stages.running import node_checks
from winnow.runners.stages.running.node_checks import CheckNode, NodeCheck, NodeReport
from winnow.schemas.records import StoreRecord, from_json


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
