"""Threshold tables: numbers that a rule compares with and that differ by row, such as by language.

A rule names a cell as `thresholds.<table>.<column>`: the value in that column, in the row whose key equals the
sample's value in column `key`. It is null if the table has no such key or value, so a rule that reads it needs
`when_null`.

Example:
    >>> table = ThresholdTable("fineweb2", "text.language.code", ("deu_Latn",), {"language_score": (0.8,)})
    >>> lookup(table, pa.array(["deu_Latn", "fra_Latn", None]), "language_score").to_pylist()
    [0.8, None, None]
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from winnow.schemas.identity import Json, fingerprint_of

PREFIX = "thresholds"
"""The first part of the name of every such column."""

Cells = Mapping[str, Mapping[str, float | None]]
"""Values by key and column."""


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """Numbers by key and column."""

    name: str
    key: str  # the dotted column of a sample that is looked up, such as `text.language.code`
    keys: tuple[str, ...]  # each once
    columns: Mapping[str, tuple[float | None, ...]]  # one value a key, in the order of the keys

    def __post_init__(self) -> None:
        if len(set(self.keys)) != len(self.keys):
            twice = next(key for number, key in enumerate(self.keys) if key in self.keys[:number])
            raise ValueError(f"threshold table {self.name!r} has the key {twice!r} twice")
        for column, values in self.columns.items():
            if len(values) != len(self.keys):
                raise ValueError(
                    f"threshold table {self.name!r}: {column!r} has {len(values)} values for {len(self.keys)} keys"
                )
            if any(value is not None and not math.isfinite(value) for value in values):
                raise ValueError(f"threshold table {self.name!r}: {column!r} holds a value that is not finite")

    def to_json(self) -> Json:
        """The table as plain values, for hashing."""
        columns: Json = {column: list(values) for column, values in self.columns.items()}
        return {"name": self.name, "key": self.key, "keys": list(self.keys), "columns": columns}

    def column_name(self, column: str) -> str:
        """The name of a column in rules."""
        return f"{PREFIX}.{self.name}.{column}"

    def with_cells(self, cells: Cells) -> "ThresholdTable":
        """The table with some values replaced; new keys are appended.

        Raises:
            KeyError: A column that the table does not have.
        """
        had = set(self.keys)
        keys = (*self.keys, *(key for key in cells if key not in had))
        place = {key: number for number, key in enumerate(keys)}
        columns = {name: [*values, *[None] * (len(keys) - len(values))] for name, values in self.columns.items()}
        for key, row in cells.items():
            for column, value in row.items():
                columns[column][place[key]] = value
        return replace(self, keys=keys, columns={name: tuple(values) for name, values in columns.items()})

    @property
    def digest(self) -> str:
        """A short name for the table's values, for plans."""
        return fingerprint_of(
            {"key": self.key, "keys": self.keys, "columns": {name: self.columns[name] for name in sorted(self.columns)}}
        )


def lookup(table: ThresholdTable, keys: pa.Array, column: str) -> pa.Array:
    """Look up a column's value for each row; null if there is none.

    Args:
        table: The table.
        keys: The key of each row: text, plain or dictionary-encoded.
        column: One of the table's columns.
    """
    coded = keys if pa.types.is_dictionary(keys.type) else pc.dictionary_encode(keys)
    named = pa.array(table.keys, coded.dictionary.type)
    values = pa.array(table.columns[column], pa.float64())
    return values.take(pc.index_in(coded.dictionary, named)).take(coded.indices)
