"""Fetches what a plan names: in this process, or as tasks on an engine; both put the same files.

An archive's servers get at most `fetch.per_endpoint` requests at once, however many workers there are: tasks are run
in so many lanes, each with its part of the requests.
"""

import asyncio
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.fetch.archives.downloads import RangeReader, open_ranges
from winnow.pipelines.fetch.archives.plan import AGAIN, ENDED, ArchiveAsk, ArchivePlan, ArchiveTask
from winnow.pipelines.fetch.archives.planning import plan_archive
from winnow.pipelines.fetch.archives.task import is_done, log_of, run_task
from winnow.pipelines.fetch.host_files import gather_host_files
from winnow.pipelines.fetch.log import LIST, log_path
from winnow.pipelines.fetch.progress import Progress, Tally
from winnow.pipelines.running.run_tasks import RunTasks
from winnow.pipelines.running.tasks import TaskLine, put_task_list
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.layout import FETCHED_HOSTS, FETCHED_LOGS, TASK_LISTS

__all__ = ["ArchiveAsk", "ArchivePlan", "RunArchiveTasks", "fetch_archive", "plan_archive"]

TOGETHER: Final = 2  # tasks at once: while one puts its file, another reads
TELL_SECONDS: Final = 1.0

Tell = Callable[[Progress], None]


def nobody(_: Progress) -> None:
    """Is told nothing."""


def fetch_archive(plan: ArchivePlan, asked: ArchiveAsk, tell: Tell = nobody) -> Tally:
    """Fetches in this process what is still missing; what it came to is of this run alone."""
    put_ended(asked)
    tasks = pending_tasks(plan, asked)
    tally = asyncio.run(_fetch(asked, tasks, asked.config.per_endpoint, tell))
    finish_archive(asked)
    return tally


def mark_again(plan: ArchivePlan, asked: ArchiveAsk) -> None:
    """Marks the tasks with records that are to be asked for again, though the log has decided them."""
    reasons = pa.array(sorted(asked.refetch), pa.string())
    for task in plan.task_list:
        path = log_path(task.name)
        if task.is_robots or not asked.objects.exists(path):
            continue
        found = pq.read_table(io.BytesIO(asked.objects.read(path)), columns=["reason"])["reason"]
        if pc.any(pc.is_in(found, reasons)).as_py():
            asked.objects.put(f"{AGAIN}{task.name}", b"")


def put_ended(asked: ArchiveAsk) -> None:
    """Puts the rows of the log of lines of a list and rows of the index that are no record, which planning found."""
    with suppress(FileNotFoundError):
        asked.objects.put(log_path(LIST), asked.objects.read(ENDED))


def has_ended(asked: ArchiveAsk) -> bool:
    """Whether the log has the rows of these lines."""
    return asked.objects.exists(log_path(LIST)) or not asked.objects.exists(ENDED)


def finish_archive(asked: ArchiveAsk) -> None:
    """Puts what all tasks together make: the robots.txt captures, as `url.robots: {rules: …}` reads them."""
    for info in list(asked.objects.list(TASK_LISTS)):
        asked.objects.delete(info.path)
    gather_host_files(asked.objects)


def pending_tasks(plan: ArchivePlan, asked: ArchiveAsk) -> list[ArchiveTask]:
    """The tasks of a plan that are not done, or of which a record may be had by now."""
    if asked.refetch:
        mark_again(plan, asked)
    done = {info.path for folder in (FETCHED_LOGS, FETCHED_HOSTS) for info in asked.objects.list(folder)}
    again = {info.path for info in asked.objects.list(AGAIN)}
    return [task for task in plan.task_list if log_of(task) not in done or f"{AGAIN}{task.name}" in again]


async def _fetch(asked: ArchiveAsk, tasks: Sequence[ArchiveTask], at_once: int, tell: Tell) -> Tally:
    reader = open_ranges(asked.query.data, asked.config, at_once)
    whole = Tally()
    told = _Told(whole, reader, sum(task.records for task in tasks if not task.is_robots), tell)
    left = iter(tasks)

    async def run() -> None:
        for task in left:
            done = await run_task(asked, task, reader, at_once, told.add if not task.is_robots else told.ignore)
            if not task.is_robots:
                whole.merge(done)

    runs = [asyncio.create_task(run()) for _ in range(TOGETHER)]
    watch = asyncio.create_task(told.watch())
    try:
        await asyncio.gather(*runs)
    finally:
        for one in (*runs, watch):
            one.cancel()
        await asyncio.gather(*runs, watch, return_exceptions=True)
        await reader.close()
    whole.requests = reader.requests.count
    told.now()
    return whole


class _Told:
    """Tells how far a run is."""

    def __init__(self, tally: Tally, reader: RangeReader, records: int, tell: Tell) -> None:
        self._tally, self._reader, self._records, self._tell = tally, reader, records, tell
        self._done = self._bytes = 0

    def add(self, records: int, size: int) -> None:
        """Counts records of a task under way."""
        self._done += records
        self._bytes += size

    def ignore(self, records: int, size: int) -> None:
        """Counts nothing: a capture of robots.txt is no record that was asked for."""

    def now(self) -> None:
        """Tells this moment."""
        reasons = {str(reason): count for reason, count in sorted(self._tally.by_reason.items())}
        self._tell(Progress(self._done, self._records, self._bytes, self._reader.requests.count, 1, reasons))

    async def watch(self) -> None:
        """Tells each second."""
        while True:
            await asyncio.sleep(TELL_SECONDS)
            self.now()


@dataclass(frozen=True, slots=True)
class Lane(TaskLine):
    """Tasks that one worker runs one after the other."""

    number: int
    tasks: tuple[ArchiveTask, ...]
    at_once: int


class RunLane(beam.DoFn):
    """A lane → the names of its tasks."""

    def __init__(self, asked: ArchiveAsk) -> None:
        self._asked = asked

    def setup(self) -> None:
        """Runs once per process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Runs what is left of the lane; safe to repeat."""
        lane = Lane.from_json(element)
        left = [task for task in lane.tasks if not is_done(self._asked.objects, task)]
        asyncio.run(_fetch(self._asked, left, lane.at_once, nobody))
        yield from (task.name for task in lane.tasks)


class RunArchiveTasks(beam.PTransform[PBegin, PCollection[str]]):
    """The tasks of a plan that are not done, on an engine: names of tasks. `finish_archive` follows it."""

    def __init__(self, plan: ArchivePlan, asked: ArchiveAsk) -> None:
        super().__init__()
        self._plan = plan
        self._asked = asked

    def expand(self, pbegin: PBegin) -> PCollection[str]:
        """As other stages do: a list of tasks, which workers read."""
        path = put_task_list(self._asked.objects, "fetch", (lane.to_json() for lane in lanes(self._plan, self._asked)))
        found: PCollection[str] = pbegin | RunTasks(self._asked.objects, path, RunLane(self._asked))
        return found


def lanes(plan: ArchivePlan, asked: ArchiveAsk) -> list[Lane]:
    """What is pending, dealt to as many lanes as there are workers, which share the requests at once."""
    put_ended(asked)
    tasks = pending_tasks(plan, asked)
    most = asked.config.per_endpoint
    count = max(1, min(asked.workers, most, len(tasks)))
    return [Lane(number, tuple(tasks[number::count]), most // count) for number in range(count)]
