"""Rows of a store for Python: as Arrow, pandas or Polars, and as a table in notebooks."""

import html
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

import pyarrow as pa

from winnow.filters.extras import required_package
from winnow.schemas.errors import WinnowError

SHOWN_ROWS: Final = 20
SHOWN_CHARACTERS: Final = 200


class Rows:
    """Rows with these columns, which `read` reads anew each time they are requested."""

    def __init__(self, schema: pa.Schema, read: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.schema = schema
        self._read = read

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows some at a time, for tables that do not fit into memory."""
        return self._read()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as Arrow's reader, which other packages take."""
        return pa.RecordBatchReader.from_batches(self.schema, self._read())

    def to_arrow(self) -> pa.Table:
        """All rows in memory."""
        return pa.Table.from_batches(self._read(), self.schema)

    def to_pandas(self) -> Any:
        """All rows as pandas' DataFrame."""
        required_package("to_pandas", "pandas", "notebook")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as Polars' DataFrame."""
        polars = required_package("to_polars", "polars", "notebook")
        return polars.from_arrow(self.to_arrow())

    def to_datasets(self) -> Any:
        """All rows as a Dataset of Hugging Face's `datasets`, which is installed apart."""
        try:
            datasets = import_module("datasets")
        except ModuleNotFoundError:
            raise WinnowError("to_datasets needs another package: run: pip install datasets") from None
        return datasets.Dataset(self.to_arrow())

    def first(self, count: int = SHOWN_ROWS) -> pa.Table:
        """The first rows; no more is read than they need."""
        taken: list[pa.RecordBatch] = []
        left = count
        for batch in self._read():
            taken.append(batch.slice(0, left))
            left -= taken[-1].num_rows
            if left <= 0:
                break
        return pa.Table.from_batches(taken, self.schema)

    def __repr__(self) -> str:
        rows = self.first(SHOWN_ROWS + 1)
        lines = [" | ".join(self.schema.names)]
        lines += [" | ".join(_shown(value) for value in row.values()) for row in rows.slice(0, SHOWN_ROWS).to_pylist()]
        return "\n".join([*lines, "…"] if rows.num_rows > SHOWN_ROWS else lines)

    def _repr_html_(self) -> str:
        rows = self.first(SHOWN_ROWS + 1)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.schema.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row.values()) + "</tr>"
            for row in rows.slice(0, SHOWN_ROWS).to_pylist()
        )
        more = "<p>…</p>" if rows.num_rows > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: object) -> str:
    """A value in a cell; bytes by their number, and long texts by their beginning."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    text = "" if value is None else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
