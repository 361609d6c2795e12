"""SQL over the tables of a store: one SELECT, which reads the columns that it names and nothing else.

DuckDB runs it without access to files and the network. A table that a query reads once is streamed into it; one that it
reads several times is copied first, on disk if it is large. A query about tables (`SHOW TABLES`,
`information_schema`) finds all of them, those that it does not read without rows.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa

from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.runners.notebook.result import Rows
from winnow.runners.notebook.store_tables import DECISIONS, StoreTables
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import suggestion
from winnow.schemas.rules.conditions import CLOSED

MEMORY: Final = "2GiB"
BATCH_ROWS: Final = 16_384

_CATALOGUE: Final = (
    "information_schema.",
    "pg_catalog.",
    "duckdb_",
    "sqlite_master",
    "pragma_show_tables",
    "pragma_table",
)

_Tree: TypeAlias = Mapping[str, Any]


class QueryError(WinnowError):
    """A query that cannot be run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may take."""

    memory: str = MEMORY  # beyond that it writes to the disk
    disk: str | None = None  # as DuckDB writes sizes
    batch_rows: int = BATCH_ROWS
    watched: Callable[[Callable[[], None]], AbstractContextManager[None]] = lambda _: nullcontext()
    """Is given what interrupts the query, while it runs."""


def sql(tables: StoreTables, query: str, limits: Limits | None = None) -> Rows:
    """The result of a query, which runs when its rows are requested.

    QueryError if it is not one SELECT, or names tables or columns that do not exist.
    """
    limits = limits or Limits()
    plan = _planned(tables, query)
    with _engine(limits) as engine, limits.watched(engine.interrupt):
        _define(engine, plan, {table: pa.Table.from_batches([], schema) for table, schema in plan.schemas.items()})
        try:
            schema = engine.sql(query).to_arrow_table().schema
        except duckdb.Error as error:
            raise _query_error(tables, error) from None

    def read() -> Iterator[pa.RecordBatch]:
        failed: list[WinnowError] = []

        def stream(table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            try:
                yield from tables.read(table, columns)
            except WinnowError as error:
                failed.append(error)  # DuckDB would make a text of it
                raise

        with _engine(limits) as running, limits.watched(running.interrupt):
            streams = {
                table: pa.RecordBatchReader.from_batches(of_table, stream(table, of_table.names))
                for table, of_table in plan.schemas.items()
            }
            try:
                _define(running, plan, streams)
                yield from running.sql(query).to_arrow_reader(limits.batch_rows)
            except (duckdb.Error, OSError, pa.ArrowException) as error:
                raise failed[0] if failed else _query_error(tables, error) from None

    return Rows(schema, read)


@dataclass(frozen=True, slots=True)
class _Plan:
    schemas: Mapping[str, pa.Schema]  # of the tables that a query reads: the columns that it may name
    repeated: frozenset[str]  # tables that it reads several times
    others: Mapping[str, pa.Schema]  # tables that it does not read, if it asks which tables there are


def _planned(tables: StoreTables, query: str) -> _Plan:
    with duckdb.connect(":memory:", config=CLOSED) as engine:
        (parsed,) = engine.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0]
    tree = json.loads(parsed)
    if tree["error"]:
        why = "only SELECT is allowed, as a store is never changed" if tree["error_type"] == "not implemented" else None
        raise QueryError(f"sql: {why or tree['error_message']}")
    if len(tree["statements"]) != 1:
        raise QueryError("sql: expected one SELECT")
    read: Counter[str] = Counter()
    every = has_parts = lists = False
    for node in _nodes(tree):
        kind = node.get("type")
        every |= kind in ("STAR", "COLUMNS") or node.get("ref_type") == "NATURAL"
        has_parts |= kind in ("SUBQUERY", "RECURSIVE_CTE_NODE") or bool(node.get("cte_map", {}).get("map"))
        if kind == "BASE_TABLE":
            read[_called(node)] += 1
            lists |= _called(node).startswith(_CATALOGUE)
        elif kind == "SHOW_REF":
            lists |= node["query"] is None
            read[_called(node)] += node["show_type"] == "SHOW"
        elif kind == "TABLE_FUNCTION":
            lists |= str(node["function"]["function_name"]).casefold().startswith(_CATALOGUE)
    names = {text.casefold() for text in _texts(tree)}  # all that could be a column's name, wherever it stands
    known = {table.casefold(): table for table in tables.schemas}
    schemas: dict[str, pa.Schema] = {}
    repeated = set()
    for name, count in read.items():
        if (table := known.get(name)) is None:
            continue  # part of the query, or unknown
        fields = [field for field in tables.schemas[table] if every or lists or field.name.casefold() in names]
        schemas[table] = pa.schema(fields or [tables.schemas[table][0]])
        if has_parts or count > 1:
            repeated.add(table)
    others = {table: schema for table, schema in tables.schemas.items() if lists and table not in schemas}
    return _Plan(schemas, frozenset(repeated), others)


def _called(node: _Tree) -> str:
    return ".".join(part for part in (node["schema_name"], node["table_name"]) if part).casefold()


def _nodes(tree: object) -> Iterator[_Tree]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _texts(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(value)


@contextmanager
def _engine(limits: Limits) -> Iterator[duckdb.DuckDBPyConnection]:
    with temporary_folder("sql") as folder:
        config = CLOSED | {"memory_limit": limits.memory, "temp_directory": folder, "preserve_insertion_order": "true"}
        if limits.disk is not None:
            config["max_temp_directory_size"] = limits.disk
        with duckdb.connect(":memory:", config=config) as engine:
            yield engine


def _define(engine: duckdb.DuckDBPyConnection, plan: _Plan, data: Mapping[str, object]) -> None:
    """Makes the tables that a query names: `text.language` can be written with and without quotes."""
    for table, schema in plan.others.items():
        engine.register("winnow_other", pa.Table.from_batches([], schema))
        engine.execute(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM winnow_other")
        engine.unregister("winnow_other")
    for number, (table, content) in enumerate(data.items()):
        held = f"winnow_table_{number}"
        engine.register(held, content)
        if plan.others:
            engine.execute(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM {held}")
            engine.unregister(held)
            held = _quoted(table)
        else:
            if table in plan.repeated:
                engine.execute(f"CREATE TEMP TABLE {held}_copy AS SELECT * FROM {held}")
                held = f"{held}_copy"
            engine.execute(f"CREATE TEMP VIEW {_quoted(table)} AS SELECT * FROM {held}")
        schema, dot, name = table.partition(".")
        if dot:
            engine.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")
            engine.execute(f"CREATE VIEW {_quoted(schema)}.{_quoted(name)} AS SELECT * FROM {held}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _query_error(tables: StoreTables, error: Exception) -> QueryError:
    """One line, with the nearest name where a table or a column is unknown."""
    first = str(error).splitlines()[0]
    unknown = re.search(r'Table with name (\S+) does not exist|Referenced column "([^"]+)" not found', first)
    if unknown is None:
        if "SHOW TABLES FROM" in first:
            return QueryError("sql: SHOW TABLES takes no FROM here: alone, it lists all tables of the store")
        if "disabled by configuration" in first:
            return QueryError("sql: a query reads the store's tables alone, neither files nor the network")
        return QueryError(f"sql: {first}")
    if unknown[1]:
        table = unknown[1].replace('"', "")
        if table.casefold() == DECISIONS:
            return QueryError("sql: decisions are a recipe's: open the store with one, winnow.open_store(…, recipe=…)")
        if table in tables.schemas:  # the query reads it, but by a function
            return QueryError(
                f"sql: name the table {table!r} after FROM or JOIN, as it is, and not in quotes of a text"
            )
        return QueryError(f"sql: no table {table!r}{suggestion(table, tables.schemas)}")
    owners = [table for table, schema in tables.schemas.items() if unknown[2] in schema.names]
    if owners:
        return QueryError(f"sql: no table of the query has column {unknown[2]!r}; it is in {', '.join(owners)}")
    known = {name for schema in tables.schemas.values() for name in schema.names}
    return QueryError(f"sql: no column {unknown[2]!r}{suggestion(unknown[2], known)}")
