"""How representatives are chosen: kinds of duplicates, the recipe's preferences, and the columns that this reads."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.preferences import BoundPreference
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.store import layout
from winnow.schemas.recipe import DedupeConfig
from winnow.schemas.rows.duplicates import VIRTUAL, Kind, layer_of_kind
from winnow.schemas.uint128 import Words

ROW_BITS = 32  # of a place: the number of a shard, then that of a row in it
TEXT = "text"  # the columns of texts' digests

ITEMS = pa.schema([pa.field(name, pa.uint64()) for name in ("place", "item", "high", "low", "all_items")])
"""Items with duplicates: the row's place, the item's number, its cluster, and whether all the row's items have some."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """How representatives are chosen. Picklable."""

    kinds: tuple[Kind, ...]
    preferences: tuple[BoundPreference, ...]
    sources: tuple[str, ...]  # in the recipe's order
    config: DedupeConfig
    max_cluster: Mapping[Kind, int]  # of different members, above which a cluster of each kind raises an alarm
    digest: Column | None = None  # of the text, where no kind compares the texts of equal addresses
    by_item: tuple[Kind, ...] = ()  # the kinds of which rules of `items` read which media are represented by others

    @property
    def of_rows(self) -> tuple[Kind, ...]:
        """The kinds that compare rows."""
        return tuple(kind for kind in self.kinds if not find_kind(kind).unit.of_items)

    @property
    def of_items(self) -> tuple[Kind, ...]:
        """The kinds that compare items."""
        return tuple(kind for kind in self.kinds if find_kind(kind).unit.of_items)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the choice that rules may read."""
        return tuple(f"{VIRTUAL}.{kind}" for kind in self.kinds)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the choice reads."""
        found = [Column(layout.SAMPLES, "id")]
        for kind in self.kinds:
            found += [Column(layer_of_kind(kind), leaf) for leaf in leaves_of(kind)]
        found += [one.column for one in self.preferences if one.column is not None]
        found += [] if self.digest is None else [self.digest]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, order=True)
class LargeCluster:
    """A near cluster with more different members than the cap."""

    texts: int
    rows: int
    id: str
    of: str = "texts"  # the column that counts them


def leaves_of(kind: Kind) -> tuple[str, ...]:
    """Return the columns of a kind's layer that the choice reads."""
    distinct = find_kind(kind).distinct
    return ("cluster", "size") if distinct is None else ("cluster", "size", distinct)


def preference_names(choice: Choice) -> list[str]:
    """Return the columns of what the recipe prefers, the first first."""
    return [f"preference{number}" for number in range(len(choice.preferences))]


def candidate_columns(choice: Choice) -> pa.Schema:
    """Return the columns of candidates: place, preferences, id, and clusters."""
    names = ["place", *preference_names(choice), "id_high", "id_low"]
    compared = (*choice.of_rows, *(() if choice.digest is None else (TEXT,)))
    names += [f"{kind}_{word}" for kind in compared for word in ("high", "low")]
    return pa.schema([pa.field(name, pa.uint64()) for name in names])


def rows_of(places: Words) -> Rows:
    """Return the rows' positions in their shard."""
    return (places & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)
