"""Tasks of an archive: on an engine and in one process, whatever the order, and after being killed."""

import multiprocessing
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

import apache_beam as beam
import pytest

from tests.inline_engine import InlineRunner
from tests.pipelines.fetch.archives.loopback import NAME, Answer, Crawl, Server, pages
from winnow.pipelines.fetch.archives import planning, ranges
from winnow.pipelines.fetch.archives.plan import PLAN
from winnow.pipelines.fetch.archives.stage import (
    ArchiveAsk,
    RunArchiveTasks,
    fetch_archive,
    finish_archive,
    lanes,
    pending_tasks,
    plan_archive,
)
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.fetch.progress import Progress
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.recipe.fetch import ArchiveQuery, FetchConfig

WHERE = "fetch_status = 200"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    robots = {f"www.site{number}.is": f"User-agent: *\nDisallow: /{number}\n" for number in range(8)}
    return Crawl(tmp_path_factory.mktemp("crawl"), pages(400), files=3, robots=robots)


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Several tasks of several ranges each."""
    patch.setattr(planning, "TASK_BYTES", 20_000)
    patch.setattr(ranges, "RANGE_BYTES", 4_000)


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


def asked_for(folder: Path, crawl: Crawl, data: str = "", **others: object) -> ArchiveAsk:
    query = ArchiveQuery(crawl=NAME, where=WHERE, index=crawl.index, data=data or str(crawl.folder))
    return ArchiveAsk(query, LocalStore(folder), "pages", 7, FetchConfig(), **others)  # type: ignore[arg-type]


def objects_of(folder: Path) -> dict[str, bytes]:
    """All that a fetch leaves, without the lists of what was asked of an engine."""
    objects = LocalStore(folder)
    return {info.path: objects.read(info.path) for info in objects.list() if not info.path.startswith("tasks/")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, crawl: Crawl) -> Path:
    """Where one process fetched all."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        asked = asked_for(folder, crawl)
        plan = plan_archive(asked)
        assert plan.tasks > 5
        fetch_archive(plan, asked)
    return folder


@pytest.fixture(scope="module")
def whole(undisturbed: Path) -> dict[str, bytes]:
    """What one process leaves."""
    return objects_of(undisturbed)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_engine_puts_the_same_objects_as_one_process(
    tmp_path: Path, crawl: Crawl, whole: dict[str, bytes], workers: int
) -> None:
    asked = asked_for(tmp_path, crawl, workers=workers)
    plan = plan_archive(asked)
    with beam.Pipeline(runner=InlineRunner()) as pipeline:
        pipeline | RunArchiveTasks(plan, asked)
    finish_archive(asked)
    assert objects_of(tmp_path) == whole
    assert pending_tasks(plan, asked) == []


def test_lanes_share_the_requests_that_an_endpoint_gets_at_once(tmp_path: Path, crawl: Crawl) -> None:
    for workers in (1, 2, 3, 7, 50):
        asked = asked_for(tmp_path, crawl, workers=workers)
        plan = plan_archive(asked)
        made = lanes(plan, asked)
        assert sum(lane.at_once for lane in made) <= 10
        assert all(lane.at_once for lane in made)
        assert Counter(task.name for lane in made for task in lane.tasks) == {task.name: 1 for task in plan.task_list}


def test_a_rerun_asks_neither_the_index_nor_the_archive(
    tmp_path: Path, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_for(tmp_path, crawl)
    plan = plan_archive(asked)
    fetch_archive(plan, asked)
    monkeypatch.setattr(planning, "open_index", None)
    monkeypatch.setattr("winnow.pipelines.fetch.archives.stage.run_task", None)
    assert plan_archive(asked) == plan
    assert fetch_archive(plan, asked).addresses == 0


def _fetch(folder: Path, crawl: Crawl, data: str) -> None:
    """In a new process: one that tests have loaded every library in may not survive its fork."""
    asked = asked_for(folder, crawl, data)
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        fetch_archive(plan_archive(asked), asked)


@pytest.mark.processes
def test_whenever_a_run_is_killed_amid_storms_and_cuts_the_next_one_ends_with_the_same_objects(
    tmp_path: Path, crawl: Crawl, whole: dict[str, bytes], undisturbed: Path
) -> None:
    random = Random(11)
    context = multiprocessing.get_context("spawn")
    left, due, gone = 0, threading.Event(), threading.Event()

    def held(_path: str, number: int) -> Answer | None:
        """Answers so many requests, and then none until whoever asks is dead."""
        nonlocal left
        left -= 1
        if left == 0:
            due.set()
        if left <= 0:
            gone.wait(30)
        draw = Random(number).random()
        if draw < 0.2 or number % 40 < 6:  # at random, and a storm now and then
            return Answer(503, {"Retry-After": "0"})
        return Answer(206, cut=int(draw * 1_000)) if draw < 0.4 else None

    killed = 0
    with Server(crawl.folder, held) as server:
        for _ in range(8):
            left = random.randrange(1, 12)
            due.clear()
            gone.clear()
            process = context.Process(target=_fetch, args=(tmp_path, crawl, server.address))
            process.start()
            while process.is_alive() and not due.wait(0.05):
                pass
            if due.is_set():
                time.sleep(random.uniform(0, 0.1))
                process.kill()
                killed += 1
            process.join()
            gone.set()
            assert process.exitcode in (0, -signal.SIGKILL)
        left = sys.maxsize
        asked = asked_for(tmp_path, crawl, server.address)
        asked.objects.clear_unfinished()
        plan = plan_archive(asked)
        fetch_archive(plan, asked)
    assert killed > 1
    found = objects_of(tmp_path)
    counted = {path for path in whole if path.endswith(".parquet") and "plan/" not in path} | {PLAN}
    assert found.keys() == whole.keys()  # of these some count requests, of which there were more here
    assert {path: found[path] for path in found.keys() - counted} == {
        path: whole[path] for path in whole.keys() - counted
    }
    rows = [
        read_log(asked.objects).drop_columns(["attempts"]),
        read_log(LocalStore(undisturbed)).drop_columns(["attempts"]),
    ]
    assert rows[0] == rows[1]
    assert Counter(read_log(asked.objects)["reason"].to_pylist()) == {"ok": 400}


def test_progress_is_told_and_adds_up(tmp_path: Path, crawl: Crawl) -> None:
    asked = asked_for(tmp_path, crawl)
    plan = plan_archive(asked)
    told: list[Progress] = []
    tally = fetch_archive(plan, asked, told.append)
    assert (told[-1].addresses_done, told[-1].addresses_all) == (400, 400)
    assert told[-1].bytes == plan.bytes == tally.bytes
    assert tally.warc_files == sum(not task.is_robots for task in plan.task_list)
    assert told[-1].by_reason == {"ok": 400}
