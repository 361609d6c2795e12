"""The log of a fetched folder: which row says what became of an address, and what a later run tries again.

`log/NAME.parquet` has the rows of `warc/NAME.warc.gz` and is put after it, so a record without its row is garbage.
`log/list.parquet` has a row for each line of the list that is asked for nothing: what is no address, what repeats
another, what is refused before any request; and for each row of an index that names no place of a record. It is
replaced whenever the list is read anew. An address has one newest row; older ones stay, as the records that they name
do.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.fetch.outcome import LOG, Again, Outcome, Reason
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import TABLES_AT_ONCE, map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import SourceError
from winnow.schemas.rules.conditions import CLOSED

LIST: Final = "list"
MAX_URL: Final = 2_048  # characters of an address that a row keeps
MAX_DETAIL: Final = 300
MEMORY: Final = "1GiB"  # for joins and sorting; the rest spills to a temporary folder

_ROWS: Final = 65_536
_STORED: Final = pa.schema(  # times as numbers: DuckDB's zones are an extension
    [field.with_type(pa.int64()) if pa.types.is_timestamp(field.type) else field for field in LOG]
)
LATER: Final = tuple(reason.value for reason in Reason if reason.again is Again.LATER)


def log_path(name: str) -> str:
    """Where the rows of a segment are."""
    return layout.fetched_log(name)


def log_table(outcomes: Iterable[Outcome]) -> pa.Table:
    """Rows of the log; texts that are too long are cut."""
    rows = list(outcomes)
    columns = []
    for field in LOG:
        values = [getattr(row, field.name) for row in rows]
        if field.name in ("url", "canonical", "final_url"):
            values = [None if value is None else clean(value, MAX_URL) for value in values]
        elif field.name in ("detail", "mime", "etag", "last_modified"):
            values = [None if value is None else clean(value, MAX_DETAIL) for value in values]
        columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=LOG)


def clean(text: str, most: int) -> str:
    """A text of an address or a server that a row can hold: without lone surrogates, at most so long."""
    cut = text[:most]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")


def put_log(objects: ObjectStore, name: str, rows: pa.Table) -> None:
    """Put rows, after the file of the records that they name."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows.cast(LOG), sink, compression="zstd", row_group_size=_ROWS)
    objects.put(log_path(name), sink.getvalue().to_pybytes())


def read_log(objects: ObjectStore, columns: tuple[str, ...] | None = None) -> pa.Table:
    """The newest row of each address, with one for each line that is asked for nothing; in the order of addresses."""
    with log_engine() as engine:
        load_log(engine, objects)
        return _in_order(engine, columns)


def _in_order(engine: duckdb.DuckDBPyConnection, columns: tuple[str, ...] | None) -> pa.Table:
    names = [field.name for field in LOG] if columns is None else columns
    found = engine.sql(f"SELECT {_quoted(names)} FROM log ORDER BY key, url, origin, origin_offset")
    table = found.to_arrow_table()
    return table.cast(pa.schema([_STORED.field(name) for name in names])).cast(
        pa.schema([LOG.field(name) for name in names])
    )


@contextmanager
def log_engine() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in a temporary folder; its memory is bounded."""
    with temporary_folder("fetch") as folder:
        settings = CLOSED | {"memory_limit": MEMORY, "temp_directory": f"{folder}/spilled"}
        engine = duckdb.connect(f"{folder}/fetch.duckdb", config=settings)
        try:
            yield engine
        finally:
            engine.close()


def load_log(engine: duckdb.DuckDBPyConnection, objects: ObjectStore, *, lines: bool = True) -> None:
    """Make the table `log`: the columns of `LOG`, and `key`, by which the rows of an address are one.

    And `record`: of each key the newest row that has a record with its bytes.

    Args:
        engine: A database.
        objects: The fetched folder.
        lines: With the rows of `list.parquet`, which are newer than any.
    """
    fields = ", ".join(f'"{field.name}" {_sql(field.type)}' for field in _STORED)
    engine.execute(f"CREATE OR REPLACE TABLE every_row ({fields}, place BIGINT)")
    listed = log_path(LIST)
    found = sorted(one.path for one in objects.list(layout.FETCHED_LOGS) if one.path.endswith(".parquet"))
    paths = [path for path in found if path != listed]
    for place, raw in enumerate(map_objects(objects, partial(_read, objects), paths, TABLES_AT_ONCE)):
        _insert(engine, raw, _named(objects, paths[place]), place)
    # Rows of a line are no later word on the address that it repeats, so they are apart.
    engine.execute(
        "CREATE OR REPLACE TABLE log AS SELECT * EXCLUDE place, coalesce(canonical, url) AS key FROM every_row "
        "QUALIFY row_number() OVER (PARTITION BY coalesce(canonical, url), origin, origin_offset "
        "ORDER BY fetched_at DESC NULLS LAST, place DESC) = 1"
    )
    engine.execute(
        "CREATE OR REPLACE TABLE record AS SELECT coalesce(canonical, url) AS key, final_url, etag, last_modified, "
        "fetched_at FROM every_row WHERE decision = 'fetched' AND origin IS NULL "
        "QUALIFY row_number() OVER (PARTITION BY key ORDER BY fetched_at DESC NULLS LAST, place DESC) = 1"
    )
    engine.execute("DELETE FROM every_row")
    if lines and objects.exists(listed):
        _insert(engine, _read(objects, listed), _named(objects, listed), 0)
        engine.execute("DELETE FROM log WHERE key IN (SELECT canonical FROM every_row WHERE reason <> 'repeated')")
        engine.execute("INSERT INTO log SELECT * EXCLUDE place, coalesce(canonical, url) FROM every_row")
    engine.execute("DROP TABLE every_row")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _named(objects: ObjectStore, path: str) -> str:
    return f"{objects.root}/{path}"


def _read(objects: ObjectStore, path: str) -> bytes:
    try:
        return objects.read(path)
    except OSError as error:
        raise _no_rows(_named(objects, path), error) from None


def _insert(engine: duckdb.DuckDBPyConnection, raw: bytes, named: str, place: int) -> None:
    try:
        for batch in pq.ParquetFile(io.BytesIO(raw)).iter_batches(_ROWS):
            rows = pa.Table.from_batches([batch]).cast(LOG).cast(_STORED)
            engine.register("found", rows)
            engine.execute(f"INSERT INTO every_row SELECT *, {place} FROM found")
            engine.unregister("found")
    except (OSError, pa.ArrowException, ValueError) as error:
        raise _no_rows(named, error) from None


def _no_rows(named: str, error: Exception) -> SourceError:
    return SourceError(f"{named}: not rows of a fetch ({error}); remove it and run winnow fetch again")


def _sql(kind: pa.DataType) -> str:
    known = {"string": "VARCHAR", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"}
    return known.get(str(kind), "BLOB")


def counts(objects: ObjectStore, by: tuple[str, ...] = ("decision", "reason")) -> pa.Table:
    """How many addresses ended how, with the bytes of their bodies; most first.

    Args:
        objects: The fetched folder.
        by: Columns of the log, such as `reason` or `domain`.
    """
    with log_engine() as engine:
        load_log(engine, objects)
        names = _quoted(by)
        return engine.sql(
            f"SELECT {names}, count(*) AS addresses, coalesce(sum(body_bytes), 0)::BIGINT AS bytes "
            f"FROM log GROUP BY ALL ORDER BY addresses DESC, {names}"
        ).to_arrow_table()
