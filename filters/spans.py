"""Spans of texts to delete or replace, stored next to the text and applied only on export.

A text's spans are byte ranges of its UTF-8: half-open, sorted, disjoint, never inside a code point.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.schemas.kernels import kernel

SPANS = pa.list_(pa.field("item", pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())])))
"""The type of a column of deletions."""

TYPED_SPANS = pa.list_(
    pa.field(
        "item", pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32()), pa.field("kind", pa.string())])
    )
)
"""The type of a column of typed spans, such as `email`, whose replacements may name the kind."""


@kernel  # type: ignore[untyped-decorator]
def grown(spans: npt.NDArray[np.int32], needed: int) -> npt.NDArray[np.int32]:
    """A copy of the array with room for at least this many rows; it grows by doubling."""
    if needed <= len(spans):
        return spans
    wider = np.empty((max(needed, 2 * len(spans)), 2), np.int32)
    wider[: len(spans)] = spans
    return wider


def spans_column(bounds: npt.NDArray[np.int64], spans: npt.NDArray[np.int32]) -> pa.ListArray:
    """A column whose row i has the spans `bounds[i]` to `bounds[i + 1]`."""
    used = spans[: bounds[-1]]
    items = pa.StructArray.from_arrays(
        [pa.array(np.ascontiguousarray(used[:, side])) for side in (0, 1)], fields=list(SPANS.value_type)
    )
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), items, type=SPANS)


def typed_spans_column(
    bounds: npt.NDArray[np.int64], spans: npt.NDArray[np.int32], kinds: Sequence[str]
) -> pa.ListArray:
    """A column whose row i has the spans `bounds[i]` to `bounds[i + 1]`, with their kinds."""
    items = pa.StructArray.from_arrays(
        [*(pa.array(np.ascontiguousarray(spans[:, side])) for side in (0, 1)), pa.array(kinds, pa.string())],
        fields=list(TYPED_SPANS.value_type),
    )
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), items, type=TYPED_SPANS)


def spans_of_kinds(column: pa.ListArray | pa.ChunkedArray, kinds: Sequence[str]) -> pa.ListArray:
    """The spans of these kinds in a column of typed spans."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    items = column.flatten()
    chosen = np.asarray(pc.is_in(items.field("kind"), pa.array(kinds, pa.string())))
    before = np.concatenate([[0], np.cumsum(chosen)])  # number of chosen spans before each span
    ends = np.concatenate([[0], np.cumsum(np.asarray(column.value_lengths().fill_null(0), np.int64))])
    mask = pa.array(np.asarray(column.is_null())) if column.null_count else None
    return pa.ListArray.from_arrays(
        pa.array(before[ends].astype(np.int32)), items.filter(pa.array(chosen)), type=column.type, mask=mask
    )


def edited(text: str, spans: list[dict[str, int]]) -> str:
    """The text without its spans."""
    utf8 = text.encode()
    kept, at = [], 0
    for span in spans:
        kept.append(utf8[at : span["start"]])
        at = span["end"]
    return b"".join([*kept, utf8[at:]]).decode()
