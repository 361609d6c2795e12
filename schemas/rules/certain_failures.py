"""Conditions that fail on nearly any row, found before one is read: the constants in them are at fault."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TRIED: Final = (2, 7, 1000)
"""Numbers with which a condition must fail, each time, to be refused; not 0 and 1, which hide overflows."""

_OF_ANY_NUMBER: Final = re.compile(r"by zero|overflow|shift value|escape string", re.IGNORECASE)


def certain_failure(cursor: "DuckDBPyConnection", condition: str, schema: pa.Schema) -> str | None:
    """Why a condition fails on each row that is tried, in the engine's words; None if it does not.

    Args:
        cursor: A session of the engine that will run the condition.
        condition: One that fits the schema.
        schema: The columns that it reads.
    """
    of_null = _failure(cursor, condition, {field.name: None for field in schema}, schema)
    found = None
    for number in _TRIED:
        row = {field.name: _value(field.type, number) for field in schema}
        found = _failure(cursor, condition, row, schema)
        if found is None or (of_null is None and not _OF_ANY_NUMBER.search(found)):
            return None
    return found


def remedy(failure: str) -> str:
    """What to write instead of a failing expression."""
    failure = failure.lower()
    if "by zero" in failure:
        return "divide by nullif(…, 0), which makes the condition null there"
    if "conversion" not in failure and re.search("out of range|overflow", failure):
        return "compute with fractions (CAST(… AS DOUBLE)), which do not overflow"
    return "TRY_CAST gives null where CAST fails"


def _failure(cursor: "DuckDBPyConnection", condition: str, row: Mapping[str, object], schema: pa.Schema) -> str | None:
    import duckdb

    cursor.register("tried", pa.Table.from_pylist([row], schema))
    try:
        # Line breaks, so that a comment in the condition ends with it.
        cursor.execute(f"SELECT (\n{condition}\n)::BOOLEAN FROM tried").fetchall()
    except duckdb.Error as error:
        return str(error).splitlines()[0].partition(". Use TRY")[0][:160]
    finally:
        cursor.unregister("tried")
    return None


def _value(kind: pa.DataType, number: int) -> object:
    """A value of a type, made of a number; None for a type that holds no such."""
    if pa.types.is_struct(kind):
        return {field.name: _value(field.type, number) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_value(kind.value_type, number)]
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_integer(kind):
        return min(number, 100) if kind.bit_width == 8 else number
    if pa.types.is_floating(kind):
        return float(number)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str(number) * 2  # of more than one character
    return None
