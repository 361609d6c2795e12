"""Which records a query chooses: its condition over the index, its list, its sample and its limit, by DuckDB.

The engine has no access to files or the network and its settings are locked; what it reads is read for it
(`index.py`). Which records a sample or a limit takes, a hash of the seed and their addresses says, so a larger limit
takes what a smaller one took, on any machine. Memory is bounded; what is sorted spills to the disk.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from winnow.pipelines.fetch.archives.index import NEEDED
from winnow.pipelines.fetch.archives.lists import Listed, add_normal_forms
from winnow.pipelines.fetch.log import log_table
from winnow.pipelines.fetch.outcome import Decision, Outcome, Reason
from winnow.pipelines.store.integrity.damage import first_line
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.problems import nearest, one_line, shown
from winnow.schemas.recipe.fetch import ArchiveQuery, ArchiveSample
from winnow.schemas.rules.conditions import CLOSED, ConditionError, columns_read, type_complaint

CHOSEN: Final = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("origin_offset", pa.int64(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("fetched_at", pa.timestamp("us", "UTC")),
        pa.field("status", pa.int16()),
        pa.field("mime", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("crawl", pa.string()),
        pa.field("canonical", pa.string()),  # of an address of a list
    ]
)
"""A record that is to be fetched; sorted by file and offset."""

DOMAIN: Final = "url_host_registered_domain"
MEMORY: Final = "2GiB"
_ROWS: Final = 65_536
_OFFSET: Final = "TRY_CAST(warc_record_offset AS BIGINT)"
_LENGTH: Final = "TRY_CAST(warc_record_length AS BIGINT)"
_MOST_OFFSET: Final = 1 << 60
_MOST_LENGTH: Final = 1 << 40  # so that sums of a crawl's are numbers
_FLAW: Final = (
    "CASE WHEN url IS NULL THEN 'the index has no address' WHEN origin IS NULL THEN 'the index names no file' "
    f"WHEN coalesce(origin_offset NOT BETWEEN 0 AND {_MOST_OFFSET}, true) THEN 'the index has no offset of a file' "
    f"WHEN coalesce(length NOT BETWEEN 1 AND {_MOST_LENGTH}, true) THEN 'the index has no length of a record' END"
)
_TWO_ADDRESSES: Final = "the index has another address at its place"
_HOST: Final = r"lower(regexp_extract(url, '^[A-Za-z]+://(?:[^/?#@]*@)?([^/:?#]+)', 1))"


@contextmanager
def closed_engine(scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine that reads no files but its own spilled rows, and whose settings are locked."""
    with TemporaryDirectory(dir=scratch, prefix="index-") as spilled:
        engine = duckdb.connect(config=CLOSED | {"memory_limit": MEMORY, "temp_directory": spilled})
        try:
            engine.execute("SET lock_configuration = true")
            yield engine
        finally:
            engine.close()


def check_columns(names: list[str], what: str, needed: Sequence[str] = NEEDED) -> None:
    """Refuse an index of another schema: the message says which columns it has."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise SourceError(
            f"{what}: not as Common Crawl's columnar index: it has no {', '.join(missing)}; "
            f"it has {one_line(', '.join(names), 600)}"
        )


def check_condition(where: str, schema: pa.Schema) -> None:
    """Refuse a condition that is none, or that reads columns which the index does not have."""
    try:
        columns = columns_read(where)
    except ConditionError as error:
        raise RecipeError(f"where: {error}") from None
    for column in columns:
        if column not in schema.names:
            near = nearest(column, schema.names)
            meant = f" (did you mean {near!r}?)" if near else ""
            text = "" if near else f" (a text needs single quotes: '{column}')" if column.isascii() else ""
            raise RecipeError(
                f"where: the index has no column {shown(column)}{meant}{text}; it has "
                f"{one_line(', '.join(schema.names), 900)}"
            )
    if not columns:
        raise RecipeError("where: reads no column, so it treats all records the same")
    complaint = type_complaint(where, {column: schema.field(column).type for column in columns})
    if complaint is not None:
        raise RecipeError(f"where: {complaint}")


def choose(
    engine: duckdb.DuckDBPyConnection, table: ds.Dataset, query: ArchiveQuery, seed: int, listed: Listed | None
) -> int:
    """Make the tables `taken` of what a query takes, and `chosen` of its records; return the number of these.

    What is taken without being a record that can be asked for has a `flaw`.

    Args:
        engine: A closed engine.
        table: The index.
        query: Whose condition is checked.
        seed: The store's.
        listed: Its list, whose lines are in the engine. `matched` then has what it finds, before sample and limit.
    """
    names = table.schema.names
    host = host_expression(names)
    columns = {
        "url": "url",
        "origin": "warc_filename",
        "origin_offset": _OFFSET,
        "length": _LENGTH,
        "fetched_at": _if_there(names, "fetch_time", "TIMESTAMP"),
        "status": _if_there(names, "fetch_status", "SMALLINT"),
        "mime": f"coalesce({_if_there(names, 'content_mime_detected')}, {_if_there(names, 'content_mime_type')})",
        "domain": _if_there(names, DOMAIN),
        "crawl": _if_there(names, "crawl"),
        "host": host,
        "rank": f"md5_number_upper('{int(seed)} ' || url)",
    }
    conditions = [f"({query.where})"] if query.where else []
    if listed is not None:
        conditions.append(f"{host} IN (SELECT host FROM {'hosts' if listed.are_domains else 'listed'})")
    wanted = ", ".join(f'{expression} AS "{name}"' for name, expression in columns.items())
    met = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    source = f"SELECT *, {_FLAW} AS flaw FROM (SELECT {wanted} FROM index_files{met})"
    place = "rank, origin, origin_offset"
    try:
        engine.register("index_files", table)
        if listed is None or listed.are_domains:
            rows = f"SELECT *, NULL::VARCHAR AS canonical FROM ({source})"
            engine.execute(f"CREATE OR REPLACE TEMP VIEW matched AS {rows}")
        else:
            engine.execute(f"CREATE OR REPLACE TABLE near AS {source}")
            add_normal_forms(engine)
            engine.execute(
                "CREATE OR REPLACE TABLE matched AS SELECT near.*, canonical FROM near JOIN normal_forms USING (url) "
                "QUALIFY row_number() OVER "
                "(PARTITION BY canonical ORDER BY flaw NULLS FIRST, "
                "fetched_at DESC NULLS LAST, origin, origin_offset) = 1"
            )
        sampled = _sampled("SELECT * FROM matched", query.sample, place)
        if query.limit is not None:
            sampled += f" ORDER BY {place} LIMIT {query.limit}"
        # A record that two files of the index name, or one of them twice, is one; it has one address.
        engine.execute(
            "CREATE OR REPLACE TABLE taken AS SELECT * EXCLUDE flaw, coalesce(flaw, CASE WHEN url <> first_value(url) "
            f"OVER same THEN '{_TWO_ADDRESSES}' END) AS flaw, row_number() OVER same AS number FROM ({sampled}) "
            "WINDOW same AS (PARTITION BY origin, origin_offset, flaw ORDER BY length, url)"
        )
        engine.execute("CREATE OR REPLACE TEMP VIEW chosen AS SELECT * FROM taken WHERE flaw IS NULL AND number = 1")
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise SourceError(f"the index cannot be asked: {one_line(first_line(error), 300)}") from None
    return number_of(engine, "SELECT count(*) FROM chosen")


def unplaced(engine: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
    """The rows of the log of what is taken and is no record, some at a time."""
    fields = ["origin", "status", "mime", "domain", "crawl", "canonical"]
    rows = engine.sql(
        f"SELECT coalesce(url, '') AS url, {', '.join(fields)}, '{Decision.FAILED}' AS decision, "
        f"'{Reason.NO_RECORD}' AS reason, flaw AS detail, 0 AS attempts FROM taken WHERE flaw IS NOT NULL ORDER BY ALL"
    )
    for batch in rows.to_arrow_reader(_ROWS):
        yield log_table([Outcome(**row) for row in batch.to_pylist()])


def host_expression(names: list[str]) -> str:
    """How the host of a record is told."""
    return "url_host_name" if "url_host_name" in names else _HOST


def _sampled(source: str, sample: ArchiveSample, place: str) -> str:
    """The rows that a sample takes: the share first, then so many of each host, then of each domain."""
    if sample.share < 1.0:
        source = f"SELECT * FROM ({source}) WHERE rank < {int(sample.share * 2**64)}::HUGEINT"
    for most, group in ((sample.per_host, "host"), (sample.per_domain, "coalesce(domain, host)")):
        if most is not None:
            ranked = f"row_number() OVER (PARTITION BY {group} ORDER BY {place})"
            source = f"SELECT * FROM ({source}) QUALIFY {ranked} <= {most}"
    return f"SELECT * FROM ({source})"


def choose_robots(engine: duckdb.DuckDBPyConnection, table: ds.Dataset) -> int:
    """Make the table `robots`, the newest capture of each robots.txt of the hosts of `chosen`; return their number."""
    names = table.schema.names
    engine.register("index_files", table)
    host = host_expression(names)
    try:
        engine.execute(
            "CREATE OR REPLACE TABLE robots AS SELECT * FROM (SELECT url, warc_filename AS origin, "
            f"{_OFFSET} AS origin_offset, {_LENGTH} AS length, "
            f"{_if_there(names, 'fetch_time', 'TIMESTAMP')} AS fetched_at, "
            f"{_if_there(names, 'fetch_status', 'SMALLINT')} AS status, NULL::VARCHAR AS mime, "
            f"{_if_there(names, DOMAIN)} AS domain, {_if_there(names, 'crawl')} AS crawl, "
            "NULL::VARCHAR AS canonical "
            f"FROM index_files WHERE {host} IN (SELECT host FROM chosen)) WHERE {_FLAW} IS NULL "
            "QUALIFY row_number() OVER "
            "(PARTITION BY url ORDER BY fetched_at DESC NULLS LAST, origin, origin_offset) = 1"
        )
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise SourceError(
            f"the index of robots.txt files cannot be asked: {one_line(first_line(error), 300)}"
        ) from None
    finally:
        engine.unregister("index_files")
    return number_of(engine, "SELECT count(*) FROM robots")


def number_of(engine: duckdb.DuckDBPyConnection, query: str) -> int:
    """The one number that a query gives."""
    ((found,),) = engine.execute(query).fetchall()
    return int(found)


def rows_of(engine: duckdb.DuckDBPyConnection, table: str) -> Iterator[pa.Table]:
    """The rows of `chosen` or `robots` by file and offset, some at a time."""
    names = ", ".join(f'"{name}"' for name in CHOSEN.names)
    found = engine.sql(f"SELECT {names} FROM {table} ORDER BY origin, origin_offset").to_arrow_reader(_ROWS)
    for batch in found:
        yield pa.Table.from_batches([batch]).cast(CHOSEN)


def _if_there(names: list[str], column: str, kind: str = "VARCHAR") -> str:
    return f"TRY_CAST({column} AS {kind})" if column in names else f"NULL::{kind}"
