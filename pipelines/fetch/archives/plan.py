"""What an archive is asked for: the records of a query, dealt to tasks, and what they cost; frozen before any is read.

    plan/archive.json                          the plan: which query it is for, and its counts; put last
    plan/archive/NAME.parquet                  the records of one task, by file and offset
    plan/again/NAME                            a task of which some records could not be had for now

A rerun takes the frozen plan, so a crawl's index is asked once and a killed run goes on where it ended.
"""

import io
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.pipelines.fetch.archives.index import CAPTURES, ROBOTS, open_index
from winnow.pipelines.fetch.archives.ranges import Ranges, coalesced
from winnow.pipelines.fetch.archives.selection import (
    check_columns,
    check_condition,
    choose,
    choose_robots,
    closed_engine,
    number_of,
    rows_of,
)
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json, fingerprint_of, path_slug
from winnow.schemas.recipe.fetch import ArchiveQuery, FetchConfig

PLAN: Final = "plan/archive.json"
TASKS: Final = "plan/archive/"
AGAIN: Final = "plan/again/"
VERSION: Final = 1

TASK_BYTES: Final = 128 << 20  # of records; a file of that size is read by ingest in tasks of its own
MOST_TASKS: Final = 4096  # until each has `LARGEST_TASK_BYTES`
LARGEST_TASK_BYTES: Final = 1 << 30
TASK_ROWS: Final = 65_536

_TOTAL: Final = "SELECT coalesce(sum(length), 0)::BIGINT FROM {}"

# Amazon's list price for us-east-1, where Common Crawl is: a thousand GET requests, and a GB to the internet.
DOLLARS_A_REQUEST: Final = 0.0004 / 1000
DOLLARS_A_BYTE: Final = 0.09 / 1e9


def nothing_forgotten(_url: str) -> bool:
    """No address is kept out."""
    return False


@dataclass(frozen=True)
class ArchiveAsk:
    """What is to be fetched for one source, and where it goes. Paths in the query lead from the working directory."""

    query: ArchiveQuery
    objects: ObjectStore  # the fetched folder
    source: str
    seed: int
    config: FetchConfig = field(default_factory=FetchConfig)
    forgotten: Callable[[str], bool] = nothing_forgotten  # addresses that `winnow forget` keeps out; picklable
    workers: int = 1  # processes that run tasks at once


@dataclass(frozen=True, slots=True)
class ArchiveTask:
    """Records that become one file."""

    name: str
    is_robots: bool
    records: int
    bytes: int
    requests: int


@dataclass(frozen=True)
class ArchivePlan:
    """A frozen plan; its costs are estimates."""

    fingerprint: str
    records: int  # captures of robots.txt left out
    bytes: int  # of these records
    requests: int  # to read them and the captures of robots.txt
    read_bytes: int  # by these requests, with the gaps between records
    dollars: float  # for the requests, where nothing is paid for transfer, as within the archive's region
    dollars_outside: float  # with transfer to the internet
    robots: int  # captures of robots.txt
    index_requests: int
    index_bytes: int
    not_in_index: int  # listed addresses or domains
    task_list: tuple[ArchiveTask, ...]

    @property
    def tasks(self) -> int:
        """How many files of records are written."""
        return len(self.task_list)


def plan_archive(asked: ArchiveAsk) -> ArchivePlan:
    """The plan of a query: the frozen one if there is one, else one that is made from the index.

    RecipeError for a condition that does not fit the index; SourceError if the index is none or cannot be read, or if
    the folder was fetched by another query.
    """
    query = asked.query
    fingerprint = fingerprint_of(_settings(asked))
    held = _frozen(asked.objects)
    if held is not None and held.fingerprint == fingerprint:
        return held
    if held is not None and next(asked.objects.list("log/"), None) is not None:
        raise SourceError(
            f"sources.{asked.source}: {asked.objects.root} was fetched by another query; give this source another "
            "name, or remove that folder to fetch anew"
        )
    _clear(asked.objects)
    index = open_index(query)
    captures = index.subset(_subsets(query))
    table = captures.table()
    check_columns(table.schema.names, query.index or index.objects.root)
    if query.where is not None:
        check_condition(query.where, table.schema)
    with closed_engine(asked.objects.scratch()) as engine:
        choose(engine, table, query, asked.seed)
        of_robots = index.subset((ROBOTS,))
        robots = choose_robots(engine, of_robots.table()) if query.robots and of_robots.files else 0
        writer = _Writer(
            asked.objects, path_slug(query.crawl or asked.source), number_of(engine, _TOTAL.format("chosen"))
        )
        for rows in rows_of(engine, "chosen"):
            writer.add(rows)
        writer.flush()
        if robots:
            beside = _Writer(
                asked.objects, f"robots-{writer.name}", number_of(engine, _TOTAL.format("robots")), is_robots=True
            )
            for rows in rows_of(engine, "robots"):
                beside.add(rows)
            beside.flush()
            writer.take(beside)
    plan = ArchivePlan(
        fingerprint=fingerprint,
        records=sum(task.records for task in writer.tasks if not task.is_robots),
        bytes=sum(task.bytes for task in writer.tasks if not task.is_robots),
        requests=sum(task.requests for task in writer.tasks),
        read_bytes=writer.read_bytes,
        dollars=sum(task.requests for task in writer.tasks) * DOLLARS_A_REQUEST,
        dollars_outside=sum(task.requests for task in writer.tasks) * DOLLARS_A_REQUEST
        + writer.read_bytes * DOLLARS_A_BYTE,
        robots=robots,
        index_requests=index.reads.requests,
        index_bytes=index.reads.bytes,
        not_in_index=0,
        task_list=tuple(writer.tasks),
    )
    asked.objects.put(PLAN, msgspec.json.encode({"version": VERSION, "plan": plan}))
    return plan


def _settings(asked: ArchiveAsk) -> dict[str, Json]:
    """What the choice of records depends on."""
    settings: dict[str, Json] = asdict(asked.query)
    for name in ("fetch", "data"):  # how and from where records are read does not say which
        del settings[name]
    return settings | {"version": VERSION, "seed": asked.seed, "source": asked.source}


def _subsets(query: ArchiveQuery) -> tuple[str, ...] | None:
    """The subsets that are asked: the captures, unless the condition itself names subsets."""
    return None if query.where is not None and "subset" in query.where else (CAPTURES,)


def _frozen(objects: ObjectStore) -> ArchivePlan | None:
    try:
        raw = objects.read(PLAN)
    except FileNotFoundError:
        return None
    try:
        found = msgspec.json.decode(raw, type=_Kept)
    except msgspec.DecodeError:
        raise SourceError(f"{objects.root}/{PLAN}: not a plan of winnow fetch; remove it and run again") from None
    return found.plan if found.version == VERSION else None


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    plan: ArchivePlan


def _clear(objects: ObjectStore) -> None:
    """Removes the plan of a query of which nothing was fetched, and what a killed run left of one."""
    objects.delete(PLAN)
    for info in list(objects.list(TASKS)):
        objects.delete(info.path)


def read_task(objects: ObjectStore, name: str) -> pa.Table:
    """The records of a task."""
    return pq.read_table(io.BytesIO(objects.read(f"{TASKS}{name}.parquet")))


def ranges_of(rows: pa.Table) -> Ranges:
    """The ranges that hold records, which are sorted by file and offset."""
    files = pc.dictionary_encode(rows["origin"].combine_chunks()).indices.to_numpy().astype(np.int64)
    return coalesced(files, rows["origin_offset"].to_numpy(), rows["length"].to_numpy())


class _Writer:
    """Deals records to tasks, in their order."""

    def __init__(self, objects: ObjectStore, name: str, total: int, *, is_robots: bool = False) -> None:
        self.name = name
        self.tasks: list[ArchiveTask] = []
        self.read_bytes = 0
        self._objects = objects
        self._is_robots = is_robots
        self._goal = min(LARGEST_TASK_BYTES, max(TASK_BYTES, total // MOST_TASKS))
        self._held: list[pa.Table] = []
        self._bytes = self._rows = 0

    def add(self, rows: pa.Table) -> None:
        """Adds records; a task ends with the record that reaches its size."""
        while rows.num_rows:
            ends = np.cumsum(rows["length"].to_numpy()) + self._bytes
            count = int(np.searchsorted(ends, self._goal)) + 1
            count = min(count, TASK_ROWS - self._rows, rows.num_rows)
            self._held.append(rows.slice(0, count))
            self._bytes, self._rows = int(ends[count - 1]), self._rows + count
            rows = rows.slice(count)
            if self._bytes >= self._goal or self._rows >= TASK_ROWS:
                self.flush()

    def flush(self) -> None:
        """Ends a task."""
        if not self._held:
            return
        rows = pa.concat_tables(self._held).combine_chunks()
        name = f"{self.name}-{len(self.tasks):06}"
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        self._objects.put(f"{TASKS}{name}.parquet", sink.getvalue().to_pybytes())
        ranges = ranges_of(rows)
        self.tasks.append(ArchiveTask(name, self._is_robots, rows.num_rows, self._bytes, len(ranges)))
        self.read_bytes += ranges.bytes
        self._held, self._bytes, self._rows = [], 0, 0

    def take(self, other: "_Writer") -> None:
        """Adds the tasks of another."""
        self.tasks += other.tasks
        self.read_bytes += other.read_bytes
