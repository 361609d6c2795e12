r"""Control characters as spans to remove: terminals and printers interpret them, and readers never see them.

- Terminal sequences (ECMA-48): `ESC[1m`, an address after `ESC]8;;`, a character set; each is one span.
- Overstruck letters, as in formatted manual pages: of `N\bN` and `_\bN` the last letter stays.
- All other characters of C0 and C1, such as NUL: strays, a sign that a text was decoded or cut wrongly.

Tab, line feed, carriage return, vertical tab, form feed and NEL separate words and lines, and stay.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS, TEXT, TextOperator
from winnow.filters.spans import SPANS, spans_column
from winnow.schemas.recipe.checks import Between

_TOO_MANY = "too_many_spans"
_ANY = r"[\x00-\x08\x0e-\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}]"
_FOUND = re.compile(
    rb"""(?P<escape>\x1b(?:
        \[ [0-?]*+ [ -/]*+ [@-~]?               # colours, movements
        | \] [^\x00-\x1f]{0,4096}+ (?:\x07|\x1b\\)  # titles, addresses
        | [PX^_] [^\x00-\x1f]{0,4096}+ \x1b\\
        | [()*+./-] [0-9A-Z<=>%"&]              # character sets
        | [78=>]))
    | (?P<overstrike>(?<=[^\x00-\x1f\x7f]) \x08)
    | (?P<stray>\x1b | (?:[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f] | \xc2[\x80-\x84\x86-\x9f])++)""",
    re.VERBOSE,
)
_COUNTS = ("characters", "escapes", "overstrikes")
_SCHEMA = pa.schema(
    [
        STATUS,
        *(pa.field(name, pa.int32()) for name in _COUNTS),
        pa.field("stray_ratio", pa.float64()),  # share of strays among the characters of the text
        pa.field("removed", SPANS),
    ]
)


@dataclass(frozen=True, slots=True)
class Config:
    """How many spans are stored."""

    max_spans: Annotated[int, Between(1, 10_000_000)] = 100_000  # texts with more are not measured


@dataclass(frozen=True, slots=True)
class _Controls:
    """The control characters of one text."""

    spans: list[tuple[int, int]]
    escapes: int
    overstrikes: int
    strays: int


def _controls(text: bytes, most: int) -> _Controls | None:
    """The control characters of a text; None if it has too many spans."""
    spans: list[tuple[int, int]] = []
    escapes = overstrikes = strays = 0
    for found in _FOUND.finditer(text):
        start, end = found.span()
        if found.lastgroup == "escape":
            escapes += 1
        elif found.lastgroup == "overstrike":
            overstrikes += 1
            start -= 1
            while text[start] & 0xC0 == 0x80:  # inside a letter of several bytes
                start -= 1
        else:
            strays += len(found[0].decode())
        if spans and spans[-1][1] >= start:
            spans[-1] = spans[-1][0], end
        elif len(spans) == most:
            return None
        else:
            spans.append((start, end))
    return _Controls(spans, escapes, overstrikes, strays)


def controls(batch: pa.RecordBatch, config: Config) -> pa.RecordBatch:
    """The control characters of every text."""
    texts = batch.column(TEXT)
    rows = batch.num_rows
    characters = pc.count_substring_regex(texts, _ANY).to_numpy(zero_copy_only=False)
    counts: npt.NDArray[np.int32] = np.zeros((2, rows), np.int32)
    strays, refused = np.zeros(rows), np.zeros(rows, np.bool_)
    spans: list[tuple[int, int]] = []
    bounds = np.zeros(rows + 1, np.int64)
    for row in range(rows):
        found = _controls(texts[row].as_py().encode(), config.max_spans) if characters[row] else None
        if found is not None:
            counts[:, row], strays[row] = (found.escapes, found.overstrikes), found.strays
            spans += found.spans
        refused[row] = found is None and characters[row] > 0
        bounds[row + 1] = len(spans)
    column = spans_column(bounds, np.array(spans, np.int32).reshape(-1, 2))
    lengths = np.maximum(pc.utf8_length(texts).to_numpy(zero_copy_only=False), 1)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.where(refused, _TOO_MANY, "ok"), pa.string()),
            *(pa.array(count.astype(np.int32), mask=refused) for count in (characters, *counts)),
            pa.array(strays / lengths, mask=refused),
            pa.ListArray.from_arrays(column.offsets, column.values, type=SPANS, mask=pa.array(refused)),
        ],
        schema=_SCHEMA,
    )


OPERATOR = TextOperator(
    name="text.controls",
    version=1,
    summary="control characters: terminal sequences, struck letters and strays, as spans to remove",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(controls, config=config),
    as_written=True,
    memory=8,
    reasons=(_TOO_MANY,),
)
