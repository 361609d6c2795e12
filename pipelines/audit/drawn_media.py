"""Checks the media that a draw drops from its rows, which are the same for every output."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["OF_SAMPLES", "Drawn", "needs_media", "wrong_media"]

OF_SAMPLES: Final = ["id", "media.list.element.width", "media.list.element.height"]
"""What is read of the samples where media count."""

_PIXELS: Final = "pixels"

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """The draw of one shard, with all values in range; by output, and by row within it."""

    shard: str
    ids: pa.Array  # for all rows of the shard
    table: pa.Table
    media: pa.ListArray | None = None  # likewise, where they were read
    shown: pa.ListArray | None = None  # likewise, of pages the pictures of other rows
    outputs: Numbers = field(init=False)
    rows: Numbers = field(init=False)
    first: Numbers = field(init=False)
    copies: Numbers = field(init=False)

    def __post_init__(self) -> None:
        for name, column in (("outputs", "output"), ("rows", "row"), ("first", "first"), ("copies", "copies")):
            object.__setattr__(self, name, self.table[column].to_numpy().astype(np.int64))


def needs_media(unit: str, table: pa.Table) -> bool:
    """Whether a draw can be checked only against the media of its rows."""
    return unit == _PIXELS or ("dropped" in table.schema.names and bool(_lengths(table["dropped"]).any()))


def wrong_media(unit: str, drawn: Drawn) -> Iterator[str]:
    """Yields errors in the dropped media of a draw, and in the pixels counted for the media that remain."""
    if drawn.media is None:
        return
    own = _lengths(drawn.media)
    numbers = own if drawn.shown is None else np.where(own > 0, own, _lengths(drawn.shown))
    entries, items = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if "dropped" in drawn.table.schema.names:
        lists = drawn.table["dropped"].combine_chunks()
        entries = np.repeat(np.arange(len(lists)), _lengths(lists))
        items = lists.flatten().to_numpy().astype(np.int64)
    rows = drawn.rows[entries]
    absent = (items < 0) | (items >= numbers[rows])
    if absent.any():
        at = int(np.argmax(absent))
        yield f"row {rows[at]:,} drops medium {items[at]:,}, but has {numbers[rows[at]]:,} (numbers begin at 0)"
        return
    unordered = (np.diff(entries) == 0) & (np.diff(items) <= 0)
    if unordered.any():
        yield f"row {rows[int(np.argmax(unordered)) + 1]:,} drops a medium twice, or out of order"
        return
    starts = np.cumsum(numbers) - numbers
    places = starts[rows] + items  # of the dropped media, among all of the shard
    times = np.bincount(places, minlength=int(numbers.sum()))
    drawn_times = np.bincount(drawn.rows, minlength=len(numbers))  # outputs that have a row
    differing = (times > 0) & (times != np.repeat(drawn_times, numbers))
    if differing.any():
        row = int(np.searchsorted(starts, int(np.argmax(differing)), side="right")) - 1
        yield f"row {row:,} drops other media in one output than in another"
        return
    if unit == _PIXELS:
        yield from _wrong_pixels(drawn, own, (times > 0)[np.repeat(own > 0, numbers)])


def _wrong_pixels(drawn: Drawn, numbers: Numbers, dropped: NDArray[np.bool_]) -> Iterator[str]:
    """Counts the pixels of the media that remain in each drawn row."""
    assert drawn.media is not None
    held = drawn.media.flatten()
    width, height = (pc.fill_null(pc.struct_field(held, name), 0).cast(pa.int64()) for name in ("width", "height"))
    each = np.where(dropped, 0, pc.multiply(width, height).to_numpy(zero_copy_only=False))
    total = np.concatenate(([0], np.cumsum(each)))
    ends = np.cumsum(numbers)
    pixels = (total[ends] - total[ends - numbers])[drawn.rows]
    units = drawn.table["units"].to_numpy()
    wrong = pixels != units
    if wrong.any():
        at = int(np.argmax(wrong))
        left = f"the media that it does not drop have {pixels[at]:,}"
        yield f"row {drawn.rows[at]:,} counts {units[at]:,} pixels, but {left}"


def _lengths(lists: pa.ListArray | pa.ChunkedArray) -> Numbers:
    found: Numbers = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return found
