"""Converts Arrow columns of any type to lists of JSON values, column by column.

Values that JSON lacks have one declared form: bytes are `{"$base64": …}`, as is a string that is not UTF-8; times are
ISO 8601 (UTC with `Z`, without zone as they stand), durations `PT…S`; decimals are strings; the keys of maps
are strings; NaN and infinities are null, and counted per row.
"""

from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from winnow.schemas.identity import Json, canonical_json

MAX_TYPE_DEPTH: Final = 64  # of nested lists and structs; JSON writers stop at 254

_TICKS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

Rows = npt.NDArray[np.int64]
Steps: TypeAlias = tuple[str | None, ...]


class Binary(dict[str, str]):
    """Bytes in their JSON form, with the raw bytes attached."""

    def __init__(self, raw: bytes, *, encoded: bool = True) -> None:
        super().__init__({"$base64": b64encode(raw).decode("ascii")} if encoded else {})
        self.raw = raw


def rows_of(batch: pa.RecordBatch, media: str | None = None) -> tuple[list[dict[str, Json]], list[int]]:
    """The batch's rows as JSON objects, and the number of non-finite numbers per row that became null.

    Column names do not repeat: readers refuse such a table (`arrow_tables.repeated_column`). Bytes of the column
    `media` stay as they are, as a JSON form would cost more than reading.
    """
    count: int = batch.num_rows
    lost = np.zeros(count, dtype=np.int64)
    rows = np.arange(count, dtype=np.int64)
    names: list[str] = batch.schema.names
    steps = _steps_to(media, names)
    columns = [
        _values(column, rows, lost, steps[1:] if steps and steps[0] == name else None)
        for name, column in zip(names, batch.columns, strict=True)
    ]
    if not columns:
        return [{} for _ in range(count)], lost.tolist()
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)], lost.tolist()


def depth_of(kind: pa.DataType) -> int:
    """How deeply a type nests; a flat column has depth 1. Stops counting one past the limit."""
    deepest, queue = 0, [(kind, 1)]
    while queue:
        current, depth = queue.pop()
        deepest = max(deepest, depth)
        if depth <= MAX_TYPE_DEPTH:
            queue.extend((current.field(index).type, depth + 1) for index in range(current.num_fields))
    return deepest


def types_within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type and the types inside it."""
    yield kind
    if isinstance(kind, pa.BaseExtensionType):
        yield from types_within(kind.storage_type)
    elif pt.is_dictionary(kind):
        yield from types_within(kind.value_type)
    for index in range(kind.num_fields):
        yield from types_within(kind.field(index).type)


def names_no_value(array: pa.Array) -> bool:
    """Whether an index of a dictionary, at any depth, names none of its values, which Arrow's readers do not check."""
    kind = array.type
    if not any(map(pt.is_dictionary, types_within(kind))):
        return False
    if isinstance(kind, pa.BaseExtensionType):
        return names_no_value(array.storage)
    if pt.is_dictionary(kind):
        places = pc.min_max(array.indices)
        least, most = places["min"].as_py(), places["max"].as_py()
        return (least is not None and not 0 <= least <= most < len(array.dictionary)) or names_no_value(
            array.dictionary
        )
    if pt.is_map(kind):
        return names_no_value(array.keys) or names_no_value(array.items)
    if pt.is_struct(kind):
        return any(map(names_no_value, array.flatten()))
    return names_no_value(array.flatten())


def is_textual(kind: pa.DataType) -> bool:
    """Whether the column's values are strings or bytes, in any layout."""
    kind = plain_type(kind)
    return bool(
        pt.is_string(kind)
        or pt.is_large_string(kind)
        or pt.is_string_view(kind)
        or pt.is_binary(kind)
        or pt.is_large_binary(kind)
        or pt.is_binary_view(kind)
        or pt.is_fixed_size_binary(kind)
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values inside dictionary, run-end and extension layouts."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def as_text(array: pa.Array) -> pa.Array:
    """Views plain bytes as a string column, without a copy; UTF-8 is checked when values are read."""
    if pt.is_binary(array.type):
        return array.view(pa.string())
    if pt.is_large_binary(array.type):
        return array.view(pa.large_string())
    return array


def _steps_to(column: str | None, names: list[str]) -> Steps:
    """The column of the batch that a dotted name begins with, and the remaining fields."""
    return (column,) if column is None or column in names else tuple(column.split("."))


def _values(array: pa.Array, rows: Rows, lost: Rows, media: Steps | None = None) -> list[Json]:
    """The array's values. `rows` gives the row of each, to count replacements; `media` leads to bytes taken as is."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return [None if value is None else str(value) for value in array.to_pylist()]
        return _values(array.storage, rows, lost, media)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _strings(array)
    if pt.is_null(kind) or pt.is_boolean(kind) or pt.is_integer(kind):
        values: list[Json] = array.to_pylist()
        return values
    if pt.is_floating(kind):
        return _floats(array, rows, lost)
    if pt.is_decimal(kind):
        return _strings(array.cast(pa.string()))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind) or pt.is_fixed_size_binary(kind):
        return [None if value is None else Binary(value, encoded=media is None) for value in array.to_pylist()]
    if pt.is_dictionary(kind):
        if not is_textual(kind):
            return _values(array.dictionary_decode(), rows, lost, media)
        # One object per distinct value: a dictionary page may not multiply its bytes by the rows that name it.
        distinct = _values(array.dictionary, rows, lost, media)
        return [None if index is None else distinct[index] for index in array.indices.to_pylist()]
    if pt.is_run_end_encoded(kind):
        return _values(pc.run_end_decode(array), rows, lost, media)
    if pt.is_map(kind):
        return _maps(array, rows, lost)
    if (
        pt.is_list(kind)
        or pt.is_large_list(kind)
        or pt.is_fixed_size_list(kind)
        or pt.is_list_view(kind)
        or pt.is_large_list_view(kind)
    ):
        return _lists(array, rows, lost, media)
    if pt.is_struct(kind):
        return _structs(array, rows, lost, media)
    if pt.is_temporal(kind):
        return _times(array)
    return [None if value is None else str(value) for value in array.to_pylist()]


def _strings(array: pa.Array) -> list[Json]:
    try:
        values: list[Json] = array.to_pylist()
    except UnicodeDecodeError:  # Parquet readers do not check that strings are UTF-8
        values = [None if raw is None else _string(raw) for raw in array.cast(pa.large_binary()).to_pylist()]
    return values


def _string(raw: bytes) -> Json:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Binary(raw)


def _floats(array: pa.Array, rows: Rows, lost: Rows) -> list[Json]:
    values: list[Json] = array.cast(pa.float64()).to_pylist()
    bad = np.flatnonzero(~np.isfinite(array.fill_null(0).to_numpy(zero_copy_only=False)))
    for index in bad.tolist():
        values[index] = None
    np.add.at(lost, rows[bad], 1)
    return values


def _lists(array: pa.Array, rows: Rows, lost: Rows, media: Steps | None) -> list[Json]:
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    items = _values(array.flatten(), np.repeat(rows, lengths), lost, media)  # without the items of null lists
    ends = np.cumsum(lengths).tolist()
    lists: list[Json] = [items[start:end] for start, end in pairwise([0, *ends])]
    return _with_nulls(lists, array)


def _maps(array: pa.Array, rows: Rows, lost: Rows) -> list[Json]:
    offsets = array.offsets.to_numpy().astype(np.int64)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    owners = np.repeat(rows, np.diff(offsets))
    keys = [
        key if isinstance(key, str) else canonical_json(key)
        for key in _values(array.keys.slice(first, count), owners, lost)
    ]
    items = _values(array.items.slice(first, count), owners, lost)
    maps: list[Json] = [
        dict(zip(keys[start:end], items[start:end], strict=True)) for start, end in pairwise((offsets - first).tolist())
    ]
    return _with_nulls(maps, array)


def _structs(array: pa.Array, rows: Rows, lost: Rows, media: Steps | None) -> list[Json]:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    inner, rest = (media[0], media[1:]) if media else ("bytes" if media is not None else None, ())
    children = [
        _values(child, rows, lost, rest if name == inner else None)
        for name, child in zip(names, array.flatten(), strict=True)
    ]
    structs: list[Json] = (
        [dict(zip(names, values, strict=True)) for values in zip(*children, strict=True)]
        if children
        else [{} for _ in range(len(array))]
    )
    return _with_nulls(structs, array)


def _with_nulls(values: list[Json], array: pa.Array) -> list[Json]:
    if not array.null_count:
        return values
    return [value if there else None for value, there in zip(values, array.is_valid().to_pylist(), strict=True)]


def _times(array: pa.Array) -> list[Json]:
    kind = array.type
    if pt.is_interval(kind):
        return [
            None if v is None else f"P{v.months}M{v.days}DT{_seconds(v.nanoseconds, 'ns')}S" for v in array.to_pylist()
        ]
    ticks = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    if pt.is_duration(kind):
        return [None if tick is None else f"PT{_seconds(tick, kind.unit)}S" for tick in ticks.to_pylist()]
    if pt.is_time(kind):
        return [None if tick is None else _clock(tick, kind.unit) for tick in ticks.to_pylist()]
    unit = "D" if pt.is_date32(kind) else "ms" if pt.is_date64(kind) else kind.unit
    zone = "Z" if pt.is_timestamp(kind) and kind.tz is not None else ""
    moments = ticks.fill_null(0).to_numpy().view(f"datetime64[{unit}]")
    if pt.is_date64(kind):
        moments = moments.astype("datetime64[D]")
    shown: list[str] = np.datetime_as_string(moments).tolist()
    return [
        None if missing or text == "NaT" else text + zone
        for text, missing in zip(shown, array.is_null().to_pylist(), strict=True)
    ]


def _seconds(ticks: int, unit: str) -> str:
    whole, part = divmod(abs(ticks), _TICKS[unit])
    digits = len(str(_TICKS[unit])) - 1
    return f"{'-' if ticks < 0 else ''}{whole}" + (f".{part:0{digits}}" if part else "")


def _clock(ticks: int, unit: str) -> str:
    whole, part = divmod(ticks, _TICKS[unit])
    digits = len(str(_TICKS[unit])) - 1
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}" + (f".{part:0{digits}}" if part else "")
