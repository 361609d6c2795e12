"""Writes the whole result of a query as a file that a browser downloads."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.processes.run_folder import run_folder
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.queries import rows_of, written
from winnow.runners.inspect.view import AskedError
from winnow.schemas.errors import WinnowError

TABLES: Final[Mapping[str, str]] = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MAX_FILE_BYTES: Final = 4 << 30

_FORMULA: Final = r"^[=+\-@\t\r]"


def write_table(opened: Opened, query: str, ending: str) -> Path:
    """A file of all rows, which the caller deletes; AskedError for another kind of file."""
    if ending not in TABLES:
        raise AskedError(f"expected {' or '.join(f'/table.{known}' for known in TABLES)}")
    rows = rows_of(opened, query)
    handle, name = tempfile.mkstemp(prefix="table-", dir=run_folder())
    os.close(handle)
    path = Path(name)
    try:
        schema = rows.schema if ending == "parquet" else _flat(rows.schema)
        with _WRITERS[ending](path, schema) as writer:
            for batch in rows.batches():
                check_cancelled()
                writer.write_batch(batch if ending == "parquet" else _as_cells(batch, schema))
                if path.stat().st_size > MAX_FILE_BYTES:
                    raise WinnowError(f"the table has more than {MAX_FILE_BYTES >> 30} GiB; ask for fewer rows")
    except BaseException:
        path.unlink()
        raise
    return path


def _parquet(path: Path, schema: pa.Schema) -> "AbstractContextManager[Any]":
    return pq.ParquetWriter(path, schema, compression="zstd")  # type: ignore[no-any-return]


def _csv(path: Path, schema: pa.Schema) -> "AbstractContextManager[Any]":
    return pa_csv.CSVWriter(path, schema)  # type: ignore[no-any-return]


_WRITERS: Final[Mapping[str, Callable[[Path, pa.Schema], "AbstractContextManager[Any]"]]] = {
    "csv": _csv,
    "parquet": _parquet,
}


def _flat(schema: pa.Schema) -> pa.Schema:
    """What CSV has no form for is a text in it."""
    return pa.schema([(field.name, pa.string() if _is_text(field.type) else field.type) for field in schema])


def _is_text(kind: pa.DataType) -> bool:
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return not (plain or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _as_cells(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_texts(column) if _is_text(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _texts(column: pa.Array) -> pa.Array:
    """As texts. One that a spreadsheet would run as a formula begins with an apostrophe: crawls have such texts."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts = column.cast(pa.string())
    else:
        texts = pa.array([None if value is None else written(value) for value in column.to_pylist()], pa.string())
    return pc.if_else(pc.match_substring_regex(texts, _FORMULA), pc.binary_join_element_wise("'", texts, ""), texts)
