"""Plans a fetch of an archive: asks the index once, deals the records to tasks and says what they cost."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from winnow.pipelines.fetch.archives.cdxj import index_of_cdxj
from winnow.pipelines.fetch.archives.index import CAPTURES, ROBOTS, Index, IndexFile, open_index
from winnow.pipelines.fetch.archives.lists import Listed, match_domains, read_list, row_groups_of, turned, unmatched
from winnow.pipelines.fetch.archives.places import open_file
from winnow.pipelines.fetch.archives.plan import (
    ENDED,
    PLAN,
    TASKS,
    VERSION,
    ArchiveAsk,
    ArchivePlan,
    ArchiveTask,
    freeze,
    frozen_plan,
    put_table,
    ranges_of,
)
from winnow.pipelines.fetch.archives.selection import (
    DOMAIN,
    check_columns,
    check_condition,
    choose,
    choose_robots,
    closed_engine,
    host_expression,
    number_of,
    rows_of,
    unplaced,
)
from winnow.pipelines.fetch.log import log_table
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.layout import FETCHED_LOGS
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json, content_hash, fingerprint_of, path_slug
from winnow.schemas.recipe.fetch import ArchiveQuery
from winnow.schemas.rules.conditions import ConditionError, columns_read

TASK_BYTES: Final = 128 << 20  # of records; a file of that size is read by ingest in tasks of its own
MOST_TASKS: Final = 4096  # until each has `LARGEST_TASK_BYTES`
LARGEST_TASK_BYTES: Final = 1 << 30
TASK_ROWS: Final = 65_536
MOST_HOSTS: Final = 1_000_000  # by whose keys row groups are chosen; of more, hardly any would be left out

# Amazon's list price for us-east-1, where Common Crawl is: a thousand GET requests, and a GB to the internet.
DOLLARS_A_REQUEST: Final = 0.0004 / 1000
DOLLARS_A_BYTE: Final = 0.09 / 1e9


def plan_archive(asked: ArchiveAsk) -> ArchivePlan:
    """The plan of a query: the frozen one if there is one, else one that is made from the index.

    RecipeError for a condition that does not fit the index; SourceError if the index is none or cannot be read, or if
    the folder was fetched by another query.
    """
    query, objects = asked.query, asked.objects
    fingerprint = fingerprint_of(_settings(asked))
    held = frozen_plan(objects)
    if held is not None and held.fingerprint == fingerprint:
        return held
    if held is not None and next(objects.list(FETCHED_LOGS), None) is not None:
        raise SourceError(
            f"sources.{asked.source}: {objects.root} was fetched by another query; give this source another "
            "name, or remove that folder to fetch anew"
        )
    _clear(objects)
    with closed_engine(objects.scratch()) as engine, _opened(query, objects.scratch()) as index:
        listed = _listed(engine, query)
        captures = index.subset(_subsets(query))
        table = captures.table()
        check_columns(table.schema.names, index.named)
        if query.where is not None:
            check_condition(query.where, table.schema)
        if query.sample.per_domain is not None:
            check_columns(table.schema.names, index.named, (DOMAIN,))
        if listed is not None:
            table = captures.table(partial(row_groups_of, listed.keys))
            if listed.are_domains:
                match_domains(engine, table, host_expression(table.schema.names))
        choose(engine, table, query, asked.seed, listed)
        ended = _put_ended(objects, engine, listed)
        name = path_slug(query.crawl or asked.source)
        records = _dealt(engine, "chosen", _Writer(objects, name))
        beside = _Writer(objects, f"robots-{name}", is_robots=True)
        if query.robots and _choose_robots(engine, index):
            _dealt(engine, "robots", beside)
    tasks = (*records.tasks, *beside.tasks)
    requests, read_bytes = sum(task.requests for task in tasks), records.read_bytes + beside.read_bytes
    plan = ArchivePlan(
        fingerprint=fingerprint,
        records=sum(task.records for task in records.tasks),
        bytes=sum(task.bytes for task in records.tasks),
        requests=requests,
        read_bytes=read_bytes,
        dollars=requests * DOLLARS_A_REQUEST,
        dollars_outside=requests * DOLLARS_A_REQUEST + read_bytes * DOLLARS_A_BYTE,
        robots=sum(task.records for task in beside.tasks),
        index_requests=index.reads.requests,
        index_bytes=index.reads.bytes,
        not_in_index=ended[Reason.NOT_IN_INDEX],
        task_list=tasks,
        unplaced=ended[Reason.NO_RECORD],
    )
    freeze(objects, plan)
    return plan


@contextmanager
def _opened(query: ArchiveQuery, scratch: Path) -> Iterator[Index]:
    """The index of a query: its crawl's, or what its CDXJ file says, as such an index."""
    if query.cdxj is None:
        yield open_index(query)
        return
    with TemporaryDirectory(dir=scratch, prefix="cdxj-") as name:
        folder = Path(name)
        reads = index_of_cdxj(query.cdxj, folder)
        files = tuple(IndexFile(path.name, path.stat().st_size) for path in sorted(folder.glob("*.parquet")))
        beside = open_index(query) if query.robots and (query.crawl or query.index) else None
        yield Index(LocalStore(folder, durable=False), files, reads, query.cdxj, beside)


def _listed(engine: duckdb.DuckDBPyConnection, query: ArchiveQuery) -> Listed | None:
    """The query's list, if it has one."""
    file = query.addresses or query.domains
    return None if file is None else read_list(engine, file, are_domains=query.domains is not None)


def _put_ended(objects: ObjectStore, engine: duckdb.DuckDBPyConnection, listed: Listed | None) -> Counter[str]:
    """Puts how the lines ended that choose no record, and rows of the index that are none; counts them by reason."""
    lines = [] if listed is None else [*listed.ended, *unmatched(engine, listed)]
    table = pa.concat_tables([log_table(lines), *unplaced(engine)])
    if table.num_rows:
        put_table(objects, ENDED, table)
    return Counter(table["reason"].to_pylist())


def _choose_robots(engine: duckdb.DuckDBPyConnection, index: Index) -> int:
    """The captures of robots.txt of the hosts of the chosen records, if the index has any; returns their number."""
    beside = (index.beside or index).subset((ROBOTS,))
    if not beside.files:
        return 0
    if number_of(engine, "SELECT count(DISTINCT host) FROM chosen") > MOST_HOSTS:
        return choose_robots(engine, beside.table())
    hosts = engine.execute("SELECT DISTINCT host FROM chosen WHERE host <> ''").fetchall()
    keys = sorted({f"{turned(host)})" for (host,) in hosts})
    return choose_robots(engine, beside.table(partial(row_groups_of, keys)))


def _settings(asked: ArchiveAsk) -> dict[str, Json]:
    """What the choice of records depends on."""
    settings: dict[str, Json] = asdict(asked.query)
    for name in ("fetch", "data"):  # how and from where records are read does not say which
        del settings[name]
    for name in ("addresses", "domains", "cdxj"):
        if (file := getattr(asked.query, name)) is not None:
            settings[name] = _content_of(file)
    return settings | {"version": VERSION, "seed": asked.seed, "source": asked.source}


def _content_of(file: str) -> str:
    """What a list's file holds, by its hash."""
    state = content_hash()
    try:
        objects, name = open_file(file)
        with objects.open(name) as stream:
            while piece := stream.read(1 << 20):
                state.update(piece)
    except (FileNotFoundError, IsADirectoryError):
        raise SourceError(f"{file}: there is no such file") from None
    return state.hexdigest()


def _subsets(query: ArchiveQuery) -> tuple[str, ...] | None:
    """The subsets that are asked: the captures, unless the condition itself names subsets."""
    try:
        columns = columns_read(query.where) if query.where is not None else ()
    except ConditionError:
        columns = ()  # what is wrong with it is told with the index's columns at hand
    return None if "subset" in columns else (CAPTURES,)


def _clear(objects: ObjectStore) -> None:
    """Removes the plan of a query of which nothing was fetched, and what a killed run left of one."""
    objects.delete(PLAN)
    objects.delete(ENDED)
    for info in list(objects.list(TASKS)):
        objects.delete(info.path)


def _dealt(engine: duckdb.DuckDBPyConnection, table: str, writer: "_Writer") -> "_Writer":
    """Deals the records of a table of the engine to tasks."""
    total = number_of(engine, f"SELECT coalesce(sum(length), 0)::BIGINT FROM {table}")
    writer.goal = min(LARGEST_TASK_BYTES, max(TASK_BYTES, total // MOST_TASKS))
    for rows in rows_of(engine, table):
        writer.add(rows)
    writer.flush()
    return writer


class _Writer:
    """Deals records to tasks, in their order."""

    def __init__(self, objects: ObjectStore, name: str, *, is_robots: bool = False) -> None:
        self.tasks: list[ArchiveTask] = []
        self.read_bytes = 0
        self.goal = TASK_BYTES
        self._name = name
        self._objects = objects
        self._is_robots = is_robots
        self._held: list[pa.Table] = []
        self._bytes = self._rows = 0

    def add(self, rows: pa.Table) -> None:
        """Adds records; a task ends with the record that reaches its size."""
        while rows.num_rows:
            ends = np.cumsum(rows["length"].to_numpy()) + self._bytes
            count = int(np.searchsorted(ends, self.goal)) + 1
            count = min(count, TASK_ROWS - self._rows, rows.num_rows)
            self._held.append(rows.slice(0, count))
            self._bytes, self._rows = int(ends[count - 1]), self._rows + count
            rows = rows.slice(count)
            if self._bytes >= self.goal or self._rows >= TASK_ROWS:
                self.flush()

    def flush(self) -> None:
        """Ends a task."""
        if not self._held:
            return
        rows = pa.concat_tables(self._held).combine_chunks()
        name = f"{self._name}-{len(self.tasks):06}"
        put_table(self._objects, f"{TASKS}{name}.parquet", rows)
        ranges = ranges_of(rows)
        self.tasks.append(ArchiveTask(name, self._is_robots, rows.num_rows, self._bytes, len(ranges)))
        self.read_bytes += ranges.bytes
        self._held, self._bytes, self._rows = [], 0, 0
