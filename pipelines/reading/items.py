"""The items of rows, one line each: a row's lists, taken apart.

An item's id is its row's id with the item's number added to the last four bytes by exclusive or. So the first item has
its row's id, and every item's id begins with 24 of its row's 32 digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.schemas.uint128 import values_of, words_of

__all__ = [
    "ROW_DIGITS",
    "ItemLines",
    "item_ids",
    "item_lines",
    "item_of_id",
    "list_counts",
    "list_ends",
    "list_sums",
    "rows_and_items",
]

ROW_DIGITS = 24
"""Hexadecimal digits that the ids of a row and of its items have in common."""

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class ItemLines:
    """The items of a batch."""

    rows: Positions  # in the batch, ascending
    items: Positions  # among the row's items
    columns: Mapping[str, pa.Array]


def item_lines(batch: Mapping[str, pa.Array], lists: Sequence[str], ids: str) -> ItemLines:
    """Return the items of a batch, with these columns and their ids.

    Args:
        batch: Columns by their names.
        lists: The columns that have a value for each item; all of the same lengths.
        ids: The column of the rows' ids; each line has its item's id there.
    """
    rows, items = rows_and_items(list_counts(batch[lists[0]]))
    columns = {name: batch[name].flatten() for name in lists}
    return ItemLines(rows, items, {**columns, ids: item_ids(batch[ids].take(pa.array(rows)), items)})


def list_counts(lists: pa.ListArray) -> Positions:
    """Return how many elements each list has; a null has none."""
    found: Positions = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def list_ends(lists: pa.ListArray) -> Positions:
    """Return 0, and then where each list ends among the elements of all."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(list_counts(lists))])


def list_sums(lists: pa.ListArray, of_elements: Positions) -> Positions:
    """Return for each list the sum over its elements."""
    sums: Positions = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(of_elements)])[list_ends(lists)])
    return sums


def rows_and_items(counts: Positions) -> tuple[Positions, Positions]:
    """Return the row of each element of lists of these lengths, and its position in its list."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def item_ids(ids: pa.FixedSizeBinaryArray, items: Positions) -> pa.FixedSizeBinaryArray:
    """Return the ids of items, given those of their rows."""
    high, low = words_of(ids)
    return values_of(high, low ^ items.astype(np.uint64))


def item_of_id(item: bytes, row: bytes) -> int:
    """Return the number of an item of this row, given both ids."""
    return int.from_bytes(item) ^ int.from_bytes(row)
