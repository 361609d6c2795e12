"""SQL of the page: one SELECT, within a budget of time, memory and disk, given up when it is no longer wanted."""

import json
import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from winnow.pipelines.processes.cancelling import check_cancelled, interrupted_if_cancelled
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.runners.notebook.result import Rows
from winnow.runners.notebook.sql import Limits, sql

MAX_ROWS: Final = 10_000  # that the page can turn over
MAX_BYTES: Final = 32 << 20  # of them
MAX_CHARACTERS: Final = 2_000  # of a cell
MAX_QUERY_CHARACTERS: Final = 20_000
SAFE_INTEGER: Final = (1 << 53) - 1  # a larger one is another number in a browser


@dataclass(frozen=True)
class Result:
    """The first rows of a query's result."""

    table: pa.Table
    truncated: bool  # there are more

    @property
    def nbytes(self) -> int:
        """Its memory."""
        return int(self.table.nbytes)


def rows_of(opened: Opened, query: str) -> Rows:
    """What a query gives, read as its batches are taken; QueryError if it is not one SELECT over the store's tables."""
    if len(query) > MAX_QUERY_CHARACTERS:
        raise AskedError(f"query: expected at most {MAX_QUERY_CHARACTERS:,} characters")
    if opened.store.latest_record() is None:
        raise UnavailableError("nothing has been ingested yet; run: winnow ingest RECIPE")
    return sql(opened.tables, query, Limits("512MiB", "4GiB", 1_024, interrupted_if_cancelled))


def first_rows(opened: Opened, query: str) -> Result:
    """The first rows of a query's result, kept for other pages of it."""
    key = ("sql", query)
    found: Result | None = opened.kept.find(key)
    if found is None:
        found = _first_rows(rows_of(opened, query))  # in this thread, which can be cancelled
        opened.kept.put(key, found)
    return found


def _first_rows(rows: Rows) -> Result:
    batches: list[pa.RecordBatch] = []
    left, room = MAX_ROWS, MAX_BYTES
    for batch in rows.batches():
        check_cancelled()
        taken = batch.slice(0, left)
        while taken.nbytes > room and taken.num_rows > 1:
            taken = taken.slice(0, taken.num_rows // 2)
        batches.append(taken)
        left, room = left - taken.num_rows, room - taken.nbytes
        if taken.num_rows < batch.num_rows or room <= 0:
            return Result(pa.Table.from_batches(batches, rows.schema), truncated=True)
    return Result(pa.Table.from_batches(batches, rows.schema), truncated=False)


def shown(value: Any) -> Any:  # Any: of whatever type DuckDB has
    """A cell as JSON: long texts are cut, and what a browser has no number for is a text."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return value if len(value) <= MAX_CHARACTERS else f"{value[:MAX_CHARACTERS]}…"
        case bytes():
            return shown(value.hex())
        case _:
            return shown(written(value))


def written(value: Any) -> str:  # Any: the same
    """A value without a form of its own in JSON or CSV, as a text; lists and structs are written as JSON."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_leaf)
    return str(_leaf(value))


def _leaf(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    return str(value)
