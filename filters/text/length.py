"""The length of a text: bytes, characters, lines and paragraphs. Cheap; budgets and tables use it."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import TEXT, TextOperator

VERSION = 1

WRITES = pa.schema(
    [
        pa.field("bytes", pa.int64()),  # of UTF-8
        pa.field("characters", pa.int64()),  # code points
        pa.field("lines", pa.int64()),  # that are not blank
        pa.field("paragraphs", pa.int64()),  # runs of such lines, separated by blank lines
    ]
)


@dataclass(frozen=True, slots=True)
class LengthConfig:
    """No settings."""


def lengths(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The lengths of every text."""
    text = batch.column(TEXT)
    columns = (
        pc.binary_length(text),
        pc.utf8_length(text),
        pc.count_substring_regex(text, r"(?m)^.*\S.*$"),
        pc.count_substring_regex(text, r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*"),
    )
    return pa.RecordBatch.from_arrays([column.cast(pa.int64()) for column in columns], schema=WRITES)


OPERATOR = TextOperator(
    name="text.length",
    version=VERSION,
    summary="bytes, characters, lines and paragraphs of the text",
    config=LengthConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: WRITES,
    load=lambda _config, _assets: lengths,
    as_written=True,
)
