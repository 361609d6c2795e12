"""Live fetching as a stage of an engine: lanes of registered domains, each of which one worker asks.

A lane has all addresses of its domains and its share of the requests at once, so the pace of hosts and domains holds
on any number of workers. What redirects to a domain of another lane is left (`elsewhere`), and asked by the driver
after the lanes. A lane that is run again asks only for addresses without a row since the stage began.
"""

import asyncio
import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.fetch.host_files import gather_host_files
from winnow.pipelines.fetch.live.crawl import begin_addresses, fetch_addresses, fetch_queue
from winnow.pipelines.fetch.live.planning import LiveAsk, LivePlan, domain_order, plan_addresses
from winnow.pipelines.fetch.live.queue import QUEUE, Queue, write_queue
from winnow.pipelines.fetch.log import LIST, log_path
from winnow.pipelines.fetch.outcome import REASONS, Decision, Reason, decision_without_record
from winnow.pipelines.fetch.progress import Progress, Tally, tally_from_json, tally_to_json
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.running.run_tasks import RunTasks
from winnow.pipelines.running.tasks import TaskLine, put_task_list
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.layout import FETCHED_LOGS, TASK_LISTS
from winnow.schemas.identity import digest

LANES: Final = "lanes/"
"""The addresses of lanes, in the fetched folder, while a stage runs."""
_LEAST: Final = -(1 << 63)
_TALLY: Final = ".json"

Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Lane(TaskLine):
    """Domains that one worker asks: those whose place in the queue is in a range."""

    number: int
    first: int
    last: int  # of the next lane the first; beyond the last place for the last lane
    at_once: int
    began: int  # microseconds since 1970

    @property
    def path(self) -> str:
        """Where its addresses are."""
        return f"{LANES}{self.number:05}.arrow"


def begin_lanes(plan: LivePlan, asked: LiveAsk, workers: int) -> tuple[list[Lane], Tally]:
    """Put the addresses of each lane; `finish_lanes` follows the stage."""
    plan, tally = begin_addresses(plan, asked, lambda _: None)
    count = max(1, min(workers, plan.domains, asked.config.at_once))
    starts = plan.queue.domain_starts()
    edges = [int(starts[np.searchsorted(starts, number * len(plan.queue) // count)]) for number in range(count)]
    edges = [*sorted(set(edges) - {len(plan.queue)}), len(plan.queue)] if len(plan.queue) else []
    orders = [_LEAST, *(domain_order(asked.seed, plan.queue[edge].domain) for edge in edges[1:-1]), 1 << 63]
    began = int(datetime.now(UTC).timestamp() * 1e6)
    at_once = max(1, asked.config.at_once // max(1, len(edges) - 1))
    lanes = []
    for number, (start, stop) in enumerate(pairwise(edges)):
        lane = Lane(number, orders[number], min(orders[number + 1], (1 << 63) - 1), at_once, began)
        _put(asked, lane, plan.queue, start, stop)
        lanes.append(lane)
    return lanes, tally


def _put(asked: LiveAsk, lane: Lane, queue: Queue, start: int, stop: int) -> None:
    with temporary_folder("fetch") as folder:
        file = Path(folder) / "lane"
        with pa.ipc.new_stream(str(file), QUEUE) as writer:
            for rows in queue.rows(start, stop):
                writer.write_batch(rows)
        asked.objects.put(lane.path, file)


class LanesProgress:
    """How far lanes are, by the rows that were committed since; asked now and then."""

    def __init__(self, plan: LivePlan, asked: LiveAsk) -> None:
        self._objects, self._count = asked.objects, plan.pending + plan.refused.total()
        self._seen = {one.path for one in asked.objects.list(FETCHED_LOGS)} - {log_path(LIST)}
        self._tally = Tally()

    def __call__(self) -> Progress:
        """Reads what is new."""
        for path in [one.path for one in self._objects.list(FETCHED_LOGS) if one.path not in self._seen]:
            self._seen.add(path)
            columns = ["decision", "reason", "body_bytes"]
            rows = pq.read_table(io.BytesIO(self._objects.read(path)), columns=columns)
            for one in rows.group_by(columns[:2]).aggregate([([], "count_all"), ("body_bytes", "sum")]).to_pylist():
                self._tally.add_rows(Decision(one["decision"]), REASONS[one["reason"]], one["count_all"])
                self._tally.bytes += one["body_bytes_sum"] or 0
        return self._tally.progress(self._count)


def finish_lanes(asked: LiveAsk, tell: Tell) -> Tally:
    """Remove the lanes, and ask for what no lane could: redirects from one lane to another. What all came to."""
    whole = Tally()
    for one in asked.objects.list(LANES):
        if one.path.endswith(_TALLY):
            whole.merge(tally_from_json(asked.objects.read(one.path)))
    for folder in (LANES, TASK_LISTS):
        for one in list(asked.objects.list(folder)):
            asked.objects.delete(one.path)
    gather_host_files(asked.objects)
    rest = replace(asked, only=frozenset([Reason.ELSEWHERE]), refetch=frozenset())
    plan = plan_addresses(rest)
    if plan.pending:
        last = fetch_addresses(plan, rest, tell)
        for reason, rows in plan.refused.items():  # they were counted when the stage began
            last.add_rows(decision_without_record(reason), reason, -rows)
        whole.add_rows(Decision.FAILED, Reason.ELSEWHERE, -plan.pending)
        whole.merge(last)
    return whole


def run_lane(asked: LiveAsk, lane: Lane) -> Tally:
    """Fetch what is left of a lane; what it came to is put beside it."""
    tally = Tally()
    with temporary_folder("fetch") as name:
        file = Path(name) / "lane"
        with asked.objects.open(lane.path) as stream, file.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        rows = pa.ipc.open_stream(pa.memory_map(str(file)))
        left = pa.RecordBatchReader.from_batches(QUEUE, _left(rows, _done(asked, lane)))
        queue = write_queue(left, temporary_folder("fetch"), "lane")
        own = replace(asked, config=replace(asked.config, at_once=lane.at_once))

        def owns(domain: str) -> bool:
            return lane.first <= domain_order(asked.seed, domain) < lane.last

        asyncio.run(fetch_queue(queue, own, len(queue), lambda _: None, tally, owns))
    asked.objects.put(f"{LANES}{lane.number:05}{_TALLY}", tally_to_json(tally))
    return tally


def _done(asked: LiveAsk, lane: Lane) -> npt.NDArray[np.uint64]:
    """The addresses, as hashes, that have rows since the stage began: of a lane that is run for the first time, few."""
    found: list[int] = []
    oldest = log_path(f"{datetime.fromtimestamp(lane.began / 1e6 - 1, UTC):%Y%m%dT%H%M%S}")
    for one in asked.objects.list(FETCHED_LOGS):
        if one.path >= oldest and one.path != log_path(LIST):
            rows = pq.read_table(io.BytesIO(asked.objects.read(one.path)), columns=["canonical", "fetched_at"])
            new = rows.filter(pc.greater_equal(rows["fetched_at"].cast(pa.int64()), lane.began))
            found.extend(map(_hash, new["canonical"].to_pylist()))
    return np.sort(np.array(found, np.uint64))


def _left(batches: pa.RecordBatchReader, done: npt.NDArray[np.uint64]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if not len(done):
            yield batch
            continue
        hashes = np.array([_hash(address) for address in batch.column("canonical").to_pylist()], np.uint64)
        yield batch.filter(pa.array(~np.isin(hashes, done)))


def _hash(address: str) -> int:
    return int.from_bytes(digest("address", address, size=8), "little")


class RunLane(beam.DoFn):
    """A lane → its number, when its addresses are decided."""

    def __init__(self, asked: LiveAsk) -> None:
        self._asked = asked

    def setup(self) -> None:
        """Runs once per process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Fetches what is left of the lane; safe to repeat."""
        lane = Lane.from_json(element)
        run_lane(self._asked, lane)
        yield str(lane.number)


class RunLanes(beam.PTransform[PBegin, PCollection[str]]):
    """The lanes of a list on an engine: their numbers. `finish_lanes` follows it."""

    def __init__(self, lanes: list[Lane], asked: LiveAsk) -> None:
        super().__init__()
        self._lanes, self._asked = lanes, asked

    def expand(self, pbegin: PBegin) -> PCollection[str]:
        """As other stages do: a list of tasks, which workers read."""
        path = put_task_list(self._asked.objects, "fetch", (lane.to_json() for lane in self._lanes))
        found: PCollection[str] = pbegin | RunTasks(self._asked.objects, path, RunLane(self._asked))
        return found
