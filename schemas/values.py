"""A hash of decoded values: the same rows give the same hash whatever the file, encoding or batch layout.

The tree hash of a store is built from these (law 4), so a new pyarrow, row-group size or compression changes nothing.
Every column is hashed as a few byte streams, each concatenated over batches: one byte per value for validity, the
values with nulls zeroed, and the lengths of variable-size values.
"""

import hashlib
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class _Hash(Protocol):
    def update(self, raw: memoryview | bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class ValueHasher:
    """Feed batches in order; `hexdigest` names their values and schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema.remove_metadata()
        self._streams: dict[str, _Hash] = {}
        self.rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        if batch.schema.remove_metadata() != self._schema:
            raise ValueError(f"a batch has another schema: {batch.schema}")
        self.rows += batch.num_rows
        for name, column in zip(self._schema.names, batch.columns, strict=True):
            self._add(f"/{name}", column)

    def hexdigest(self) -> str:
        """32 hex digits over the schema, the number of rows and every stream."""
        total = hashlib.blake2b(digest_size=16)
        for line in (_describe(self._schema), str(self.rows)):
            total.update(line.encode() + b"\0")
        for path in sorted(self._streams):
            total.update(path.encode() + b"\0" + self._streams[path].digest())
        return total.hexdigest()

    def _feed(self, path: str, raw: memoryview) -> None:
        if raw.nbytes:  # a stream exists once it has bytes, so that empty batches have no effect
            self._streams.setdefault(path, cast(_Hash, hashlib.blake2b(digest_size=16))).update(raw)

    def _add(self, path: str, array: pa.Array) -> None:
        kind = array.type
        if pa.types.is_dictionary(kind):
            self._add(path, array.dictionary_decode())
            return
        valid = np.asarray(array.is_valid())
        self._feed(path + "?", valid.astype(np.uint8).data)
        if pa.types.is_null(kind):
            return
        if pa.types.is_struct(kind):
            for index in range(kind.num_fields):  # a null struct's fields are null too
                child = pc.struct_field(array, [index])
                self._add(f"{path}.{kind.field(index).name}", child)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            lengths = _filled(pc.list_value_length(array), 0).cast(pa.int64())
            self._feed(path + "#", np.asarray(lengths).data)
            self._add(path + "[]", array.flatten())
        elif (
            pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
            or pa.types.is_binary(kind)
            or pa.types.is_large_binary(kind)
        ):
            self._add_bytes(path, array)
        elif pa.types.is_fixed_size_binary(kind):
            self._add_bytes(path, array.cast(pa.binary()))
        elif pa.types.is_boolean(kind):
            self._feed(path, np.asarray(_filled(array, False)).astype(np.uint8).data)
        elif pa.types.is_primitive(kind):
            integers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
            plain = array if integers else array.cast(_storage(kind))
            self._feed(path, _little_endian(np.asarray(_filled(plain, 0))).data)
        else:
            raise TypeError(f"{path}: no value hash for {kind}")

    def _add_bytes(self, path: str, array: pa.Array) -> None:
        lengths = _filled(pc.binary_length(array), 0).cast(pa.int64())
        self._feed(path + "#", np.asarray(lengths).data)
        present = array.drop_null() if array.null_count else array
        large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
        if len(present) == 0:
            return
        _, offsets, data = present.buffers()
        width = np.int64 if large else np.int32
        bounds = np.frombuffer(offsets, dtype=width)
        first, last = int(bounds[present.offset]), int(bounds[present.offset + len(present)])
        if data is not None and last > first:
            self._feed(path, memoryview(data)[first:last])


def _filled(array: pa.Array, value: int) -> pa.Array:
    """The array with a value in place of nulls; most have none, and a call costs as much as a few hundred values."""
    return pc.fill_null(array, value) if array.null_count else array


@lru_cache(maxsize=256)
def _describe(schema: pa.Schema) -> str:
    return "; ".join(f"{field.name}: {_described(field)}" for field in schema)


def _described(field: pa.Field) -> str:
    """The field's type. The name of a list's items is ignored: Arrow uses `item`, some Parquet files `element`."""
    kind = field.type
    if pa.types.is_struct(kind):
        text = "struct<" + ", ".join(f"{child.name}: {_described(child)}" for child in kind) + ">"
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        text = f"list<{_described(kind.value_field)}>"
    else:
        text = str(kind)
    return text if field.nullable else f"{text} not null"


def _storage(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if kind.bit_width == 64 else pa.int32()


def _little_endian(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)  # one NaN, whatever its bits
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
