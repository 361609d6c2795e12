"""The rows and items that representatives replace, shard by shard."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.rules.representatives.candidates import ROW_BITS, LargeCluster, Rows, rows_of
from winnow.schemas.rows.duplicates import ID_BYTES, VIRTUAL, Kind
from winnow.schemas.uint128 import Words, values_of


@dataclass(frozen=True, slots=True)
class UnequalTexts:
    """How many of the rows that are replaced by one of the same address hold another text than that one.

    Texts are another if they are neither equal nor near duplicates, by the kinds that the recipe searches for; if it
    searches for no kind of text, their digests differ. Rows without a text are not compared.
    """

    compared: int = 0
    unequal: int = 0

    @property
    def share(self) -> float:
        """The share of compared rows."""
        return self.unequal / self.compared if self.compared else 0.0


NONE_COMPARED = UnequalTexts()


@dataclass(frozen=True)
class Duplicates:
    """The rows that representatives replace: 24 bytes per row."""

    lost: Mapping[Kind, NDArray[np.uint64]] = field(default_factory=dict)  # sorted
    replacements: Mapping[Kind, tuple[Words, Words]] = field(default_factory=dict)  # ids of the representatives
    large: tuple[LargeCluster, ...] = ()  # not accepted; the largest first
    large_count: int = 0  # how many there are in all
    addresses: UnequalTexts = NONE_COMPARED
    numbers: Mapping[str, int] = field(default_factory=dict)  # the numbers of shards
    lost_items: Mapping[Kind, tuple[Words, Words]] = field(default_factory=dict)  # places and items, sorted

    def items_of(self, shard: str) -> dict[str, tuple[Rows, Rows]]:
        """Return which items of a shard are represented by others: rows and numbers in them, by the rules' column."""
        found = {}
        for kind, (places, items) in self.lost_items.items():
            within = within_shards(places, self.numbers[shard], self.numbers[shard] + 1)
            found[f"{VIRTUAL}.{kind}"] = (rows_of(places[within]), items[within].astype(np.int64))
        return found

    def of(self, shard: str, rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return which of a shard's rows are replaced, by the name of the column that rules read."""
        found = {}
        for kind, lost in self.lost.items():
            marks = np.zeros(rows, np.bool_)
            marks[rows_of(lost[self._within(kind, shard)])] = True
            found[f"{VIRTUAL}.{kind}"] = marks
        return found

    def replacement_ids(self, shard: str, rows: int) -> pa.FixedSizeBinaryArray:
        """Return the ids of the representatives that replace a shard's rows; null for rows that are not replaced."""
        high, low, replaced = np.zeros(rows, np.uint64), np.zeros(rows, np.uint64), np.zeros(rows, np.bool_)
        for kind, lost in self.lost.items():
            part = self._within(kind, shard)
            at = rows_of(lost[part])
            high[at], low[at], replaced[at] = self.replacements[kind][0][part], self.replacements[kind][1][part], True
        return pc.if_else(pa.array(replaced), values_of(high, low), pa.scalar(None, pa.binary(ID_BYTES)))

    def _within(self, kind: Kind, shard: str) -> slice:
        return within_shards(self.lost[kind], self.numbers[shard], self.numbers[shard] + 1)


def within_shards(places: Words, first: int, end: int) -> slice:
    """Return where the places in a range of shards are among sorted ones."""
    bounds = np.array([first, end], np.uint64) << np.uint64(ROW_BITS)
    return slice(*np.searchsorted(places, bounds).tolist())


NO_DUPLICATES = Duplicates()
