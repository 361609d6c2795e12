"""Evaluates SQL conditions over the columns of a batch, in DuckDB without access to files or the network."""

import threading
from collections.abc import Mapping
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.schemas.rules.conditions import CLOSED


def evaluate(condition: str, batch: pa.RecordBatch) -> list[bool]:
    """Whether each row of a batch of samples meets the condition, in order; null counts as false."""
    return [bool(met) for met in _met(condition, "samples", batch)]


def selected_rows(condition: str, columns: Mapping[str, pa.Array], rows: int) -> NDArray[np.bool_]:
    """Which rows meet a condition over dotted columns of several layers; null counts as false."""
    return _met(condition, "layers", nested(columns, rows))


_thread = threading.local()


def _engine() -> duckdb.DuckDBPyConnection:
    """This thread's DuckDB connection: opening one costs more than a condition over many rows."""
    if not hasattr(_thread, "engine"):
        _thread.engine = duckdb.connect(config=CLOSED)
    engine: duckdb.DuckDBPyConnection = _thread.engine
    return engine


def _met(condition: str, name: str, batch: pa.RecordBatch) -> NDArray[np.bool_]:
    engine = _engine()
    engine.register(name, pa.Table.from_batches([batch]))
    try:
        found = engine.sql(f"SELECT coalesce(({condition}), false) AS met FROM {name}").to_arrow_table()
    except duckdb.Error as error:
        raise RecipeError(f"condition {condition!r}: {str(error).splitlines()[0]}") from None
    finally:
        engine.unregister(name)
    met: NDArray[np.bool_] = found["met"].to_numpy()
    return met


_Tree: TypeAlias = "pa.Array | dict[str, _Tree]"


def nested(columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
    """Nests dotted columns as structs, which is how SQL reads `text.language.code`."""
    tree: dict[str, _Tree] = {}
    for name, array in columns.items():
        *parents, leaf = name.split(".")
        level = tree
        for parent in parents:
            inner = level.setdefault(parent, {})
            assert isinstance(inner, dict)
            level = inner
        level[leaf] = array
    if not tree:
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=["none"])
    return pa.RecordBatch.from_arrays([_array(item) for item in tree.values()], names=list(tree))


def _array(item: _Tree) -> pa.Array:
    if isinstance(item, dict):
        return pa.StructArray.from_arrays([_array(inner) for inner in item.values()], names=list(item))
    return item
