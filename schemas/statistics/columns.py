"""Statistics of one column, chosen by its Arrow type and computed on whole arrays."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET, Struct, UnsetType
from numpy.typing import NDArray

from winnow.schemas.identity import Json
from winnow.schemas.statistics.distinct import Distinct
from winnow.schemas.statistics.numbers import FloatStatistics, IntegerStatistics, WrittenFloats, WrittenIntegers
from winnow.schemas.statistics.top import TopValues, WrittenTop
from winnow.schemas.typed_json import Count

Kind: TypeAlias = Literal["text", "binary", "integer", "float", "boolean", "list", "other"]

_WORTH_DEDUPLICATING_BYTES = 512


class Part(Protocol):
    """One measurement of a column, which merges with another of its type."""

    def absorb(self, other: Self) -> None:
        """Add the other's counts to these."""

    def to_json(self) -> Json:
        """Plain values for JSON."""


def kind_of(type_: pa.DataType) -> Kind | None:
    """The kind of a leaf; None for a struct."""
    match type_:
        case pa.DictionaryType():
            return kind_of(type_.value_type)
        case pa.BaseExtensionType():
            return kind_of(type_.storage_type)
    if pa.types.is_struct(type_):
        return None
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "text"
    if (
        pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
        or pa.types.is_fixed_size_binary(type_)
        or pa.types.is_binary_view(type_)
    ):
        return "binary"
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_) or pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return "integer"
    if pa.types.is_floating(type_):
        return "float"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return "list"
    return "other"


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """What to count for one leaf. `distinct` applies to text and binary, `categorical` to text."""

    path: tuple[str, ...]  # the column's name, then the fields of structs down to the leaf
    kind: Kind
    distinct: bool = False
    categorical: bool = False  # count each value

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)


@dataclass(slots=True)
class ColumnStatistics:
    """The counts of one leaf; parts that do not apply are None.

    `lengths` are bytes of text and binary, items of a list; `values` are numbers.
    """

    kind: Kind
    rows: int = 0
    nulls: int = 0
    trues: int | None = None
    lengths: IntegerStatistics | None = None
    characters: IntegerStatistics | None = None
    integers: IntegerStatistics | None = None
    floats: FloatStatistics | None = None
    distinct: Distinct | None = None
    top: TopValues | None = None

    @classmethod
    def empty(cls, spec: ColumnSpec) -> "ColumnStatistics":
        """Empty statistics."""
        column = cls(spec.kind)
        match spec.kind:
            case "text":
                column.lengths, column.characters = IntegerStatistics(), IntegerStatistics()
            case "binary" | "list":
                column.lengths = IntegerStatistics()
            case "integer":
                column.integers = IntegerStatistics()
            case "float":
                column.floats = FloatStatistics()
            case "boolean":
                column.trues = 0
        column.distinct = Distinct() if spec.distinct else None
        column.top = TopValues() if spec.categorical else None
        return column

    def add_nulls(self, rows: int) -> None:
        """Count rows in which the column is absent."""
        self.rows += rows
        self.nulls += rows

    def add(self, array: pa.Array) -> None:
        """Count the array's values."""
        array = _plain(array)
        self.rows += len(array)
        self.nulls += array.null_count
        if array.null_count:
            array = array.drop_null()
        if len(array) == 0:
            return
        if self.trues is not None:
            self.trues += array.true_count
        if self.integers is not None:
            self.integers.add(_as_integers(array))
        if self.floats is not None:
            self.floats.add(array.to_numpy(zero_copy_only=False))
        if self.lengths is not None:
            self.lengths.add((pc.list_value_length if self.kind == "list" else pc.binary_length)(array).to_numpy())
        if self.characters is not None:
            self.characters.add(pc.utf8_length(array).to_numpy())
        if self.top is not None:
            found = array.value_counts()
            array = found.field("values")
            self.top.add(array.to_pylist(), found.field("counts").to_pylist())
        if self.distinct is not None:
            self.distinct.add(_raw_values(array))

    def absorb(self, other: "ColumnStatistics") -> None:
        """Add the other's counts to these; ValueError if they have different kinds or parts."""
        mine, theirs = dict(self._parts()), dict(other._parts())
        if self.kind != other.kind or mine.keys() != theirs.keys():
            raise ValueError(
                f"counted as {self.kind} with {', '.join(mine) or 'no parts'} here, "
                f"as {other.kind} with {', '.join(theirs) or 'no parts'} there"
            )
        self.rows += other.rows
        self.nulls += other.nulls
        if self.trues is not None and other.trues is not None:
            self.trues += other.trues
        for name, part in mine.items():
            part.absorb(theirs[name])

    def copy(self) -> "ColumnStatistics":
        """A deep copy."""
        return deepcopy(self)

    def capped(self, limit: int) -> "ColumnStatistics":
        """The same, with only the first `limit` values counted individually."""
        return self if self.top is None else replace(self, top=self.top.capped(limit))

    def _parts(self) -> Iterator[tuple[str, Part]]:
        for name in _READERS:
            part: Part | None = getattr(self, name)
            if part is not None:
                yield name, part

    def to_json(self) -> Json:
        """Plain values for JSON."""
        written: dict[str, Json] = {"kind": self.kind, "rows": self.rows, "nulls": self.nulls}
        if self.trues is not None:
            written["trues"] = self.trues
        return written | {name: part.to_json() for name, part in self._parts()}

    @classmethod
    def from_json(cls, written: "WrittenColumn") -> "ColumnStatistics":
        """The inverse of `to_json`; ValueError if a sketch is invalid."""
        trues = None if written.trues is UNSET else written.trues
        column = cls(written.kind, written.rows, written.nulls, trues)
        for name, read in _READERS.items():
            if (part := getattr(written, name)) is not UNSET:
                setattr(column, name, read(part))
        return column


class WrittenColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """A column's statistics in JSON; parts that do not apply are omitted."""

    kind: Kind
    rows: Count
    nulls: Count
    trues: Count | UnsetType = UNSET
    lengths: WrittenIntegers | UnsetType = UNSET
    characters: WrittenIntegers | UnsetType = UNSET
    integers: WrittenIntegers | UnsetType = UNSET
    floats: WrittenFloats | UnsetType = UNSET
    distinct: str | UnsetType = UNSET
    top: WrittenTop | UnsetType = UNSET


_READERS: Mapping[str, Callable[[Any], Part]] = {  # Any: the argument's type is that of the field above
    "lengths": IntegerStatistics.from_json,
    "characters": IntegerStatistics.from_json,
    "integers": IntegerStatistics.from_json,
    "floats": FloatStatistics.from_json,
    "distinct": Distinct.from_json,
    "top": TopValues.from_json,
}


def _plain(array: pa.Array) -> pa.Array:
    """The array without encodings that these kernels cannot read."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array


def _as_integers(array: pa.Array) -> NDArray[np.integer]:
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif not pa.types.is_integer(array.type):
        array = array.cast(pa.int64())
    found: NDArray[np.integer] = array.to_numpy(zero_copy_only=False)
    return found


def _raw_values(array: pa.Array) -> Iterator[memoryview]:
    """The bytes of each value, or of each distinct value if that is cheaper than hashing all."""
    lengths = pc.binary_length(array)
    if pc.mean(lengths).as_py() < _WORTH_DEDUPLICATING_BYTES:
        array = array.unique()
    array = array.cast(pa.large_binary())
    _, offsets, content = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1].tolist()
    raw = memoryview(content) if content is not None else memoryview(b"")
    return (raw[start:end] for start, end in pairwise(ends))
