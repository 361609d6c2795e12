"""Edits of texts as spans: what to delete, kept beside the text and applied only when it is exported.

A text's spans are byte ranges of its UTF-8, half-open, sorted, apart from each other, never inside a code point.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.kernels import kernel

SPANS = pa.list_(pa.field("item", pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())])))
"""The type of a column of deletions."""

TYPED_SPANS = pa.list_(
    pa.field(
        "item", pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32()), pa.field("kind", pa.string())])
    )
)
"""The type of a column of spans of some kind, such as `email`: what is replaced by something that names the kind."""


@kernel  # type: ignore[untyped-decorator]
def grown(spans: npt.NDArray[np.int32], needed: int) -> npt.NDArray[np.int32]:
    """An array of at least so many rows that begins as this one does; rows are added by doubling."""
    if needed <= len(spans):
        return spans
    wider = np.empty((max(needed, 2 * len(spans)), 2), np.int32)
    wider[: len(spans)] = spans
    return wider


def spans_column(bounds: npt.NDArray[np.int64], spans: npt.NDArray[np.int32]) -> pa.ListArray:
    """The column whose row i has the spans `bounds[i]` to `bounds[i + 1]`."""
    used = spans[: bounds[-1]]
    items = pa.StructArray.from_arrays(
        [pa.array(np.ascontiguousarray(used[:, side])) for side in (0, 1)], fields=list(SPANS.value_type)
    )
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), items, type=SPANS)


def edited(text: str, spans: list[dict[str, int]]) -> str:
    """The text without its spans."""
    utf8 = text.encode()
    kept, at = [], 0
    for span in spans:
        kept.append(utf8[at : span["start"]])
        at = span["end"]
    return b"".join([*kept, utf8[at:]]).decode()
