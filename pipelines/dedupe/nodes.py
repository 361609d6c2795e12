"""What a search compares, as integers: the rows of a store, or the items of its rows.

A node is `shard << 40 | row << 20 | item`, so nodes sort by shard, row and item, and no two of a store are the same. A
row that is compared as a whole has the item 0. Like the numbers of shards, nodes are valid during one search only.

Clusters are named by ids, not by nodes: a search over other shards, or in another order, gives the same names.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.running.row_arrays import ROW_BITS, run_starts
from winnow.schemas.errors import StageError
from winnow.schemas.uint128 import Words

ITEM_BITS = 20
MAX_ITEMS = 1 << ITEM_BITS
"""Of a row; ingest takes far fewer."""

_SHARD = np.uint64(ROW_BITS + ITEM_BITS)
_PLACE_MASK = np.uint64((1 << (ROW_BITS + ITEM_BITS)) - 1)
_ITEM_MASK = MAX_ITEMS - 1

Numbers = NDArray[np.int64]


def places_of(rows: Numbers, items: Numbers) -> Numbers:
    """Return places within a shard: nodes without their shard."""
    if len(items) and int(items.max()) >= MAX_ITEMS:
        raise StageError(f"dedupe: a sample has {int(items.max()) + 1:,} media; at most {MAX_ITEMS:,} can be compared")
    return rows << ITEM_BITS | items


def first_place(row: int) -> int:
    """Return the place of the first item of a row."""
    return row << ITEM_BITS


def places_from(places: Numbers, row: int) -> Numbers:
    """Return the places in a shard of those in a batch that begins with this row."""
    return places + first_place(row)


def nodes_of(shard: int, places: Numbers) -> Words:
    """Return the nodes at places of a shard."""
    return np.uint64(shard) << _SHARD | places.astype(np.uint64)


def nodes_of_rows(rows: Words) -> Words:
    """Return the nodes of whole rows, given their global numbers (`winnow.pipelines.running.row_arrays`)."""
    return rows << np.uint64(ITEM_BITS)


def whole_rows(nodes: Words) -> Words:
    """Return the global numbers of the nodes' rows."""
    return nodes >> np.uint64(ITEM_BITS)


def shards_of(nodes: Words) -> Numbers:
    """Return the number of each node's shard."""
    return (nodes >> _SHARD).astype(np.int64)


def local_places(nodes: Words) -> Numbers:
    """Return each node's place in its shard."""
    return (nodes & _PLACE_MASK).astype(np.int64)


def rows_of(nodes: Words) -> Numbers:
    """Return each node's row in its shard."""
    return rows_of_places(local_places(nodes))


def rows_of_places(places: Numbers) -> Numbers:
    """Return the row of each place."""
    return places >> ITEM_BITS


def shard_ranges(nodes: Words) -> Iterator[tuple[int, int, int]]:
    """Yield each shard's number, and where its nodes begin and end among sorted nodes."""
    numbers = shards_of(nodes)
    for begin, end in itertools.pairwise([*run_starts(numbers).tolist(), len(numbers)]):
        yield int(numbers[begin]), begin, end


def items_of(places: Numbers) -> Numbers:
    """Return the item of each place."""
    return places & _ITEM_MASK
