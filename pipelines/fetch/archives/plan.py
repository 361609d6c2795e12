"""What an archive is asked for: the records of a query, dealt to tasks, and what they cost; frozen before any is read.

    plan/archive.json                          the plan: which query it is for, and its counts; put last
    plan/archive/NAME.parquet                  the records of one task, by file and offset
    plan/ended.parquet                         rows of the log of what is not asked for: of a list, and of the index
    plan/again/NAME                            a task of which some records could not be had for now

A rerun takes the frozen plan, so a crawl's index is asked once and a killed run goes on where it ended.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.pipelines.fetch.archives.ranges import Ranges, coalesced
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe.fetch import ArchiveQuery, FetchConfig

PLAN: Final = "plan/archive.json"
TASKS: Final = "plan/archive/"
ENDED: Final = "plan/ended.parquet"
AGAIN: Final = "plan/again/"
VERSION: Final = 1


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
    refetch: frozenset[Reason] = frozenset()  # asked for again, though the log has decided them


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
    unplaced: int = 0  # rows of the index that name no place of a record

    @property
    def tasks(self) -> int:
        """How many files of records are written."""
        return sum(not task.is_robots for task in self.task_list)


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    plan: ArchivePlan


def frozen_plan(objects: ObjectStore) -> ArchivePlan | None:
    """The plan of a fetched folder; None if there is none of this version."""
    try:
        raw = objects.read(PLAN)
    except FileNotFoundError:
        return None
    try:
        found = msgspec.json.decode(raw, type=_Kept)
    except msgspec.DecodeError:
        raise SourceError(f"{objects.root}/{PLAN}: not a plan of winnow fetch; remove it and run again") from None
    return found.plan if found.version == VERSION else None


def freeze(objects: ObjectStore, plan: ArchivePlan) -> None:
    """Puts a plan, after the records of its tasks."""
    objects.put(PLAN, msgspec.json.encode(_Kept(VERSION, plan)))


def put_table(objects: ObjectStore, path: str, table: pa.Table) -> None:
    """Puts a table as one object."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    objects.put(path, sink.getvalue().to_pybytes())


def read_task(objects: ObjectStore, name: str) -> pa.Table:
    """The records of a task."""
    return pq.read_table(io.BytesIO(objects.read(f"{TASKS}{name}.parquet")))


def ranges_of(rows: pa.Table) -> Ranges:
    """The ranges that hold records, which are sorted by file and offset."""
    files = pc.dictionary_encode(rows["origin"].combine_chunks()).indices.to_numpy().astype(np.int64)
    return coalesced(files, rows["origin_offset"].to_numpy(), rows["length"].to_numpy())
