"""What a list of addresses comes to before any request: which are asked, in which order, and why others are not.

The list may have more lines than memory has room for. Its lines go into a database on the disk, which finds those
that repeat another or that the log has decided; what is left is the queue, a file that is mapped: domains by hash,
hosts of a domain by name, addresses of a host by hash. In memory are the starts of hosts and domains, 16 bytes of
each, and what the database is allowed.
"""

import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.web.rights.opt_outs import OptOutConfig
from winnow.pipelines.fetch.live.addresses import read_addresses
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.live.places import place_of
from winnow.pipelines.fetch.live.queue import QUEUE, Queue, write_queue
from winnow.pipelines.fetch.log import LATER, LIST, MAX_DETAIL, MAX_URL, clean, load_log, log_engine, log_path
from winnow.pipelines.fetch.outcome import LOG, REASONS, Reason, decision_without_record
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.identity import digest
from winnow.schemas.recipe.fetch import AddressList, FetchConfig

if TYPE_CHECKING:
    from winnow.pipelines.fetch.live.names import LookUp

FOUND: Final = "sitemaps/"
"""What sitemaps add: `sitemaps/NAME.parquet` in the fetched folder, with the columns of `FOUND_ROWS`."""
FOUND_ROWS: Final = pa.schema(
    [
        pa.field("site", pa.string(), nullable=False),  # its first page
        pa.field("url", pa.string()),  # null: all of its sitemaps were read
    ]
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAsk:
    """What is to be fetched from its sites, and how."""

    addresses: AddressList
    objects: ObjectStore  # the fetched folder
    config: FetchConfig
    seed: int = 0
    forgotten: Callable[[str], bool] = lambda _: False
    refetch: frozenset[Reason] = frozenset()  # asked again, though the log has decided them
    only: frozenset[Reason] | None = None  # what else is asked again; None: whatever may end differently by now
    limit: int | None = None
    base: Path | None = None  # of the list's path
    opt_out: OptOutConfig = field(default_factory=OptOutConfig)  # by which responses are judged
    look_up: "LookUp | None" = None  # names to machines; None asks name servers
    tls: ssl.SSLContext | None = None  # whom to trust; None: whom the system trusts


@dataclass(slots=True)
class LivePlan:
    """What a list comes to."""

    addresses: int  # lines
    found: int  # addresses that only sitemaps have
    refused: Counter[Reason]  # lines that are asked for nothing, by why; those that repeat another among them
    done: int  # decided by the log
    queue: Queue
    sites: Queue | None  # whose sitemaps are to be read first; None if none are
    list_rows: Path  # rows of the log for the lines that are asked for nothing
    is_any_left: bool  # or the log says of the list what there is to say

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
        queue = write_queue(_pending(engine), folder, "pending")
        sites = None if asked.addresses.sitemaps is None else write_queue(_sites(engine), folder, "sites")
        counts = Counter({REASONS[row["reason"]]: row["count"] for row in refused.to_pylist()})
        rows = Path(folder.name) / _LIST_ROWS
        is_any_left = bool(len(queue) or sites) or not _is_put(asked.objects, rows)
        return LivePlan(lines, found, counts, done, queue, sites, rows, is_any_left)


def _is_put(objects: ObjectStore, rows: Path) -> bool:
    """Whether the log has these rows of the list."""
    try:
        return objects.size(log_path(LIST)) == rows.stat().st_size and objects.read(log_path(LIST)) == rows.read_bytes()
    except FileNotFoundError:
        return False


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
    engine.execute("CREATE TABLE read_site (site VARCHAR)")
    if asked.addresses.sitemaps is not None:
        for one in asked.objects.list(FOUND):
            with asked.objects.open(one.path) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(_ROWS):
                    found = batch.column("url").drop_null().to_pylist()
                    if found:
                        _insert(engine, _read(found, later, asked, is_listed=False))
                    later += len(found)
                    engine.register("read", pa.Table.from_batches([batch]))
                    engine.execute("INSERT INTO read_site SELECT site FROM read WHERE url IS NULL")
                    engine.unregister("read")
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


def domain_order(seed: int, domain: str) -> int:
    """Where a registered domain stands in the queue."""
    return _order(seed, "domain", domain)


def _hash(seed: int, purpose: str, text: str) -> int:
    return int.from_bytes(digest(seed, purpose, text, size=8), "little", signed=True)


_order = lru_cache(1 << 16)(_hash)


def _decide(engine: duckdb.DuckDBPyConnection, asked: LiveAsk) -> None:
    """Make the table `line`: why each line is asked for nothing, or that it is done; the others are the queue."""
    engine.execute(
        "CREATE TABLE first AS "
        "SELECT canonical, min(number) AS number FROM given WHERE canonical IS NOT NULL GROUP BY canonical"
    )
    if asked.addresses.sitemaps is not None:  # of a domain only so many, and none that the list has
        most = asked.addresses.sitemaps.count
        engine.execute(
            "DELETE FROM given WHERE NOT is_listed AND number NOT IN (SELECT number FROM given SEMI JOIN first USING "
            "(canonical, number) WHERE NOT is_listed QUALIFY row_number() OVER "
            f"(PARTITION BY domain ORDER BY address_order, canonical) <= {most})"
        )
    engine.execute(
        "CREATE TABLE chosen AS SELECT canonical FROM given SEMI JOIN first USING (canonical, number) WHERE reason IS "
        f"NULL ORDER BY address_order, canonical LIMIT {'ALL' if asked.limit is None else asked.limit}"
    )
    later = LATER if asked.only is None else (reason.value for reason in asked.only)
    again = ", ".join(f"'{reason}'" for reason in sorted({*later, *(reason.value for reason in asked.refetch)}))
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


def _pending(engine: duckdb.DuckDBPyConnection) -> pa.RecordBatchReader:
    names = ", ".join(one.name for one in QUEUE)
    return engine.sql(
        f"SELECT {names} FROM line WHERE reason IS NULL AND NOT is_decided "
        "ORDER BY domain_order, domain, host, address_order, canonical"
    ).to_arrow_reader(_ROWS)


def _sites(engine: duckdb.DuckDBPyConnection) -> pa.RecordBatchReader:
    """The first page of every site in the list whose sitemaps were not read."""
    columns = "url, url AS canonical, host, domain" + "".join(f", NULL AS {one.name}" for one in list(QUEUE)[4:])
    return engine.sql(
        f"""
        SELECT {columns} FROM (
            SELECT DISTINCT regexp_extract(canonical, '^https?://[^/]+') || '/' AS url, host, domain, domain_order
            FROM line WHERE is_listed AND reason IS NULL)
        ANTI JOIN read_site ON read_site.site = url
        ORDER BY domain_order, domain, host, url
        """
    ).to_arrow_reader(_ROWS)
