"""Which media of the rows of a shard its rules of `items` drop: in a plan's draws, so that no export decides again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.reading.items import list_counts, rows_and_items
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import read_schema, read_table
from winnow.schemas.rows.draws import DRAW

_Rows = NDArray[np.int64]

_NOTHING: _Rows = np.zeros(0, np.int64)


@dataclass(frozen=True)
class DroppedMedia:
    """Pairs of a row of a shard and a medium of it, ascending."""

    rows: _Rows = field(default_factory=lambda: _NOTHING)
    items: _Rows = field(default_factory=lambda: _NOTHING)  # the medium's number in its row

    @classmethod
    def marked(cls, numbers: _Rows, dropped: NDArray[np.bool_]) -> "DroppedMedia":
        """The marked ones among all media of a shard; `numbers` holds the media per row."""
        rows, items = rows_and_items(numbers)
        return cls(rows[dropped], items[dropped])

    @classmethod
    def drawn(cls, draw: pa.Table) -> "DroppedMedia":
        """Those that a draw names, for any output."""
        if "dropped" not in draw.schema.names:
            return cls()
        batch = draw.combine_chunks()
        lists = batch["dropped"].combine_chunks()
        numbers = list_counts(lists)
        if not numbers.any():
            return cls()
        rows = np.repeat(batch["row"].to_numpy().astype(np.int64), numbers)
        pairs = np.unique(np.stack([rows, lists.flatten().to_numpy().astype(np.int64)], axis=1), axis=0)
        return cls(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))

    def left(self, lists: pa.ListArray, rows: _Rows) -> pa.ListArray:
        """These rows' lists without the values of dropped media. `rows` are ascending; each list has a value per
        medium, or is null."""
        mine = slice(*np.searchsorted(self.rows, (rows[0], rows[-1] + 1)).tolist()) if len(rows) else slice(0, 0)
        at = np.searchsorted(rows, self.rows[mine])
        numbers, items = list_counts(lists), self.items[mine]
        there = (rows[np.minimum(at, len(rows) - 1)] == self.rows[mine]) if len(rows) else np.zeros(0, np.bool_)
        at, items = at[there], items[there]
        fits = items < numbers[at]
        if not fits.any():
            return lists
        keep = np.ones(int(numbers.sum()), np.bool_)
        keep[(np.cumsum(numbers) - numbers)[at[fits]] + items[fits]] = False
        stay = np.bincount(np.repeat(np.arange(len(rows)), numbers)[keep], minlength=len(rows))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(stay)]).astype(np.int32)
        values = lists.flatten().filter(pa.array(keep))
        missing = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=lists.type, mask=missing)

    def numbered(self, rows: _Rows) -> "DroppedMedia":
        """Those of these rows, ascending, by the rows' positions among them."""
        at = np.searchsorted(rows, self.rows)
        there = at < len(rows)
        there[there] = rows[at[there]] == self.rows[there]
        return DroppedMedia(at[there], self.items[there])

    def lists(self, rows: _Rows) -> pa.ListArray:
        """The numbers of the dropped media of each of these rows, in any order."""
        first = np.searchsorted(self.rows, rows)
        counts = np.searchsorted(self.rows, rows, side="right") - first
        _, within = rows_and_items(counts)
        values = self.items[np.repeat(first, counts) + within].astype(np.int32)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values)).cast(DRAW.field("dropped").type)


NO_MEDIA_DROPPED = DroppedMedia()


def read_draw(objects: ObjectStore, draw: str, columns: Sequence[str]) -> pa.Table:
    """Columns of a shard's draw, of those that it has: draws from before there were rules of `items` name no media."""
    there = read_schema(objects, draw).names
    return read_table(objects, draw, [name for name in columns if name in there])
