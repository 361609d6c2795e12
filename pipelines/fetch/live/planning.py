"""What a list of addresses comes to before any request: which are asked, in which order, and why others are not.

The list may have more lines than memory has room for. Its lines go into a database on the disk, which finds those
that repeat another or that the log has decided; what is left is the queue, a file that is mapped: its rows lie by
domain and host, hosts of a domain by name, addresses of a host by hash. In memory are the starts of hosts, 17 bytes
each, and what the database is allowed.
"""

import ssl
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.page.opt_out import OptOutConfig
from winnow.pipelines.fetch.live.addresses import read_addresses
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.live.places import place_of
from winnow.pipelines.fetch.live.schedule import Span
from winnow.pipelines.fetch.log import LATER, MAX_DETAIL, MAX_URL, clean, load_log, log_engine
from winnow.pipelines.fetch.outcome import LOG, REASONS, Reason, decision_without_record
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.identity import digest
from winnow.schemas.recipe.fetch import AddressList, FetchConfig

if TYPE_CHECKING:
    from winnow.pipelines.fetch.live.names import LookUp

FOUND: Final = "sitemaps/"
"""Addresses that sitemaps add: `sitemaps/NAME.parquet` with a column `url`, in the fetched folder."""

_ROWS: Final = 16_384
_LIST_ROWS: Final = "list.parquet"
_LINES: Final = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("url", pa.string()),
        pa.field("canonical", pa.string()),
        pa.field("host", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("domain_order", pa.int64()),
        pa.field("address_order", pa.int64()),
        pa.field("reason", pa.string()),  # why it is not asked
        pa.field("detail", pa.string()),
        pa.field("is_listed", pa.bool_()),  # a line of the list, rather than found in a sitemap
    ]
)
_QUEUE: Final = pa.schema(
    [
        pa.field("url", pa.string()),
        pa.field("canonical", pa.string()),
        pa.field("host", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("etag", pa.string()),  # of the newest record of it
        pa.field("last_modified", pa.string()),
        pa.field("record_url", pa.string()),
        pa.field("recorded_at", pa.int64()),  # microseconds since 1970
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAsk:
    """What is to be fetched from its sites, and how."""

    addresses: AddressList
    objects: ObjectStore  # the fetched folder
    config: FetchConfig
    seed: int = 0
    forgotten: Callable[[str], bool] = lambda _: False
    refetch: frozenset[Reason] = frozenset()  # asked again, though the log has decided them
    limit: int | None = None
    base: Path | None = None  # of the list's path
    opt_out: OptOutConfig = field(default_factory=OptOutConfig)  # by which responses are judged
    look_up: "LookUp | None" = None  # names to machines; None asks name servers
    tls: ssl.SSLContext | None = None  # whom to trust; None: whom the system trusts


@dataclass(frozen=True, slots=True)
class QueuedAddress:
    """An address that is to be asked."""

    url: str
    canonical: str
    host: str
    domain: str
    etag: str | None
    last_modified: str | None
    record_url: str | None
    recorded_at: int | None


class Queue:
    """The addresses to be asked, on the disk."""

    def __init__(self, folder: TemporaryDirectory[str], starts: "array[int]", firsts: "array[int]") -> None:
        """Open what `_written` wrote: the first row of each host, and the first host of each domain."""
        self._folder = folder  # is removed with the queue
        self._starts, self._firsts = starts, firsts
        self._file = pa.memory_map(str(_queue_file(folder)))
        self._reader = pa.ipc.open_file(self._file)
        self._batch = lru_cache(1_024)(self._reader.get_batch)  # of mapped bytes
        self._columns = lru_cache(1_024)(lambda number: self._batch(number).columns)

    @property
    def hosts(self) -> int:
        """How many hosts have addresses in it."""
        return len(self._starts) - 1

    @property
    def domains(self) -> int:
        """How many registered domains have."""
        return len(self._firsts) - 1

    def __len__(self) -> int:
        """How many addresses it has."""
        return self._starts[-1]

    def __getitem__(self, row: int) -> QueuedAddress:
        """One address."""
        return QueuedAddress(*(column[row % _ROWS].as_py() for column in self._columns(row // _ROWS)))

    def rows(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Addresses, many at a time."""
        while start < stop:
            batch, place = self._batch(start // _ROWS), start % _ROWS
            found = batch.slice(place, min(stop - start, _ROWS - place))
            yield found
            start += found.num_rows

    def spans(self) -> Iterator[Iterator[Span]]:
        """For each domain the spans of its hosts."""
        for first, last in zip(self._firsts, self._firsts[1:], strict=False):
            yield self._hosts_of(first, last)

    def _hosts_of(self, first: int, last: int) -> Iterator[Span]:
        for host in range(first, last):
            start, stop = self._starts[host], self._starts[host + 1]
            one = self[start]
            yield Span(one.host, one.domain, start, stop)


@dataclass(slots=True)
class LivePlan:
    """What a list comes to."""

    addresses: int  # lines
    found: int  # addresses that only sitemaps have
    refused: Counter[Reason]  # lines that are asked for nothing, by why; those that repeat another among them
    done: int  # decided by the log
    queue: Queue
    list_rows: Path  # rows of the log for the lines that are asked for nothing

    @property
    def repeated(self) -> int:
        """Lines that name an address again."""
        return self.refused[Reason.REPEATED]

    @property
    def pending(self) -> int:
        """Addresses that are asked now."""
        return len(self.queue)

    @property
    def hosts(self) -> int:
        """Hosts that are asked."""
        return self.queue.hosts

    @property
    def domains(self) -> int:
        """Registered domains that are asked."""
        return self.queue.domains


def plan_addresses(asked: LiveAsk) -> LivePlan:
    """Read the list and the log; nothing is asked, and nothing is written but temporary files.

    Raises:
        RecipeError: There is no contact.
        SourceError: The list is not there, cannot be read or has no line.
    """
    if asked.config.contact is None:
        raise RecipeError(
            "fetch.contact: not set; expected an address where sites reach you: "
            "mailto:you@example.org, or https://example.org/crawler"
        )
    with log_engine() as engine:
        lines = _load_lines(engine, asked)
        load_log(engine, asked.objects, lines=False)
        _decide(engine, asked)
        refused = engine.sql(
            "SELECT reason, count(*) AS count FROM line WHERE is_listed AND reason IS NOT NULL GROUP BY 1 ORDER BY 1"
        ).to_arrow_table()
        ((found, done),) = engine.execute(
            "SELECT count(*) FILTER (NOT is_listed), count(*) FILTER (is_decided) FROM line WHERE reason IS NULL"
        ).fetchall()
        folder = temporary_folder("fetch")
        _write_list_rows(engine, Path(folder.name) / _LIST_ROWS)
        queue = _written(engine, folder)
        counts = Counter({REASONS[row["reason"]]: row["count"] for row in refused.to_pylist()})
        return LivePlan(lines, found, counts, done, queue, Path(folder.name) / _LIST_ROWS)


def _write_list_rows(engine: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write the rows of lines that are asked for nothing, in the order of the list."""
    found = engine.sql(
        "SELECT url, canonical, domain, reason, detail FROM line WHERE is_listed AND reason IS NOT NULL ORDER BY number"
    )
    with pq.ParquetWriter(file, LOG, compression="zstd") as writer:
        for batch in found.to_arrow_reader(_ROWS):
            writer.write_batch(_log_rows(batch))


def _log_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    rows = batch.num_rows
    reasons = batch.column("reason").to_pylist()
    known: dict[str, pa.Array] = {name: batch.column(name) for name in batch.schema.names}
    known["decision"] = pa.array([decision_without_record(REASONS[reason]) for reason in reasons], pa.string())
    known["attempts"] = pa.array([0] * rows, pa.int16())
    return pa.RecordBatch.from_arrays(
        [known[one.name].cast(one.type) if one.name in known else pa.nulls(rows, one.type) for one in LOG], schema=LOG
    )


def _load_lines(engine: duckdb.DuckDBPyConnection, asked: LiveAsk) -> int:
    """Make the table `given`: every line of the list, and every address that sitemaps gave."""
    columns = ", ".join(f"{one.name} {_sql(one.type)}" for one in _LINES)
    engine.execute(f"CREATE TABLE given ({columns})")
    number = 0
    for lines in read_addresses(asked.addresses.file, asked.addresses.column, asked.base):
        _insert(engine, _read(lines, number, asked, is_listed=True))
        number += len(lines)
    if not number:
        raise SourceError(f"{asked.addresses.file}: has no address; expected one a line, or a table with a column url")
    later = number
    if asked.addresses.sitemaps is not None:
        for one in asked.objects.list(FOUND):
            with asked.objects.open(one.path) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(_ROWS, columns=["url"]):
                    found = batch.column("url").to_pylist()
                    _insert(engine, _read(found, later, asked, is_listed=False))
                    later += len(found)
    return number


def _sql(kind: pa.DataType) -> str:
    return {"string": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN"}[str(kind)]


def _insert(engine: duckdb.DuckDBPyConnection, rows: pa.RecordBatch) -> None:
    engine.register("read", pa.Table.from_batches([rows]))
    engine.execute("INSERT INTO given SELECT * FROM read")
    engine.unregister("read")


def _read(lines: list[str], number: int, asked: LiveAsk, *, is_listed: bool) -> pa.RecordBatch:
    """What each line says; a Python loop: parsing takes some 10 µs of a line, which is then fetched for a second."""
    rows: list[tuple[object, ...]] = []
    for place, line in enumerate(lines, start=number):
        found = place_of(line, asked.config.ports)
        shown = clean(line, MAX_URL)
        if isinstance(found, Failed):
            detail = clean(found.detail, MAX_DETAIL)
            rows.append((place, shown, None, None, None, 0, 0, found.reason.value, detail, is_listed))
            continue
        domain = found.domain
        why = Reason.FORGOTTEN.value if asked.forgotten(found.url) else None
        orders = _order(asked.seed, "domain", domain), _hash(asked.seed, "address", found.url)
        rows.append((place, shown, found.url, found.host, domain, *orders, why, None, is_listed))
    columns = list(zip(*rows, strict=True))
    return pa.RecordBatch.from_arrays(
        [pa.array(column, one.type) for column, one in zip(columns, _LINES, strict=True)], schema=_LINES
    )


def _hash(seed: int, purpose: str, text: str) -> int:
    return int.from_bytes(digest(seed, purpose, text, size=8), "little", signed=True)


_order = lru_cache(1 << 16)(_hash)


def _decide(engine: duckdb.DuckDBPyConnection, asked: LiveAsk) -> None:
    """Make the table `line`: why each line is asked for nothing, or that it is done; the others are the queue."""
    engine.execute(
        f"""
        CREATE TABLE first AS SELECT canonical, min(number) AS number FROM given WHERE canonical IS NOT NULL GROUP BY 1;
        CREATE TABLE chosen AS SELECT canonical FROM given SEMI JOIN first USING (canonical, number)
        WHERE reason IS NULL ORDER BY address_order, canonical LIMIT {asked.limit if asked.limit is not None else "ALL"}
        """
    )
    again = ", ".join(f"'{reason}'" for reason in sorted({*LATER, *(reason.value for reason in asked.refetch)}))
    # An address that a line refuses is refused, whichever line names it first.
    engine.execute(
        f"""
        CREATE TABLE line AS
        SELECT given.* EXCLUDE reason,
               CASE WHEN given.canonical IS NULL THEN given.reason
                    WHEN first.number <> given.number THEN '{Reason.REPEATED.value}'
                    WHEN given.reason IS NOT NULL THEN given.reason
                    WHEN chosen.canonical IS NULL AND log.reason IS NULL THEN '{Reason.OVER_LIMIT.value}' END AS reason,
               log.reason IS NOT NULL AND (log.reason NOT IN ({again}) OR chosen.canonical IS NULL) AS is_decided,
               record.etag, record.last_modified, record.final_url AS record_url, record.fetched_at AS recorded_at
        FROM given LEFT JOIN first ON first.canonical = given.canonical
        LEFT JOIN chosen ON chosen.canonical = given.canonical
        LEFT JOIN log ON log.key = given.canonical AND log.origin IS NULL
        LEFT JOIN record ON record.key = given.canonical;
        DROP TABLE given; DROP TABLE first; DROP TABLE chosen
        """
    )


def _queue_file(folder: TemporaryDirectory[str]) -> Path:
    return Path(folder.name) / "queue.arrow"


def _written(engine: duckdb.DuckDBPyConnection, folder: TemporaryDirectory[str]) -> Queue:
    """Write the queue's file, and note where hosts and domains start."""
    starts, firsts = array("q"), array("q")
    last_host = last_domain = None
    row = 0
    names = ", ".join(one.name for one in _QUEUE)
    found = engine.sql(
        f"SELECT {names} FROM line WHERE reason IS NULL AND NOT is_decided "
        "ORDER BY domain_order, domain, host, address_order, canonical"
    )
    with pa.ipc.new_file(str(_queue_file(folder)), _QUEUE) as writer:
        for batch in _even(found.to_arrow_reader(_ROWS)):
            for host, domain in zip(batch.column("host").to_pylist(), batch.column("domain").to_pylist(), strict=True):
                if host != last_host or domain != last_domain:
                    if domain != last_domain:
                        firsts.append(len(starts))
                    starts.append(row)
                    last_host, last_domain = host, domain
                row += 1
            writer.write_batch(batch)
    firsts.append(len(starts))
    starts.append(row)
    return Queue(folder, starts, firsts)


def _even(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of equal size, so that a row's batch is known by its number."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for one in batches:
        batch = one
        while rows + batch.num_rows >= _ROWS:
            held.append(batch.slice(0, _ROWS - rows))
            batch, rows = batch.slice(_ROWS - rows), 0
            yield from pa.Table.from_batches(held).cast(_QUEUE).combine_chunks().to_batches()
            held = []
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
    if held:
        yield from pa.Table.from_batches(held).cast(_QUEUE).combine_chunks().to_batches()
