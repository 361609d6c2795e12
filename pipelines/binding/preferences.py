"""How representatives of duplicates are chosen: a recipe's preferences as sort keys, and the columns to read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.store import layout
from winnow.schemas.problems import Problems, shown, suggestion
from winnow.schemas.recipe import DedupeConfig, Shuffle
from winnow.schemas.recipe.dedupe import Order, Preference
from winnow.schemas.rows.duplicates import VIRTUAL, Kind, layer_of_kind
from winnow.schemas.rules.checking import ColumnInfo

Keys = NDArray[np.uint64]

LENGTHS = ("text.digest.length", "text.minhash.shingles", "samples.source.length")
"""The columns that can give a text's length, the best first."""

FETCHED_AT = "samples.source.fetched_at"

_LAST = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the key of a row without a value
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class BoundPreference:
    """A preference, and the column that it reads; None if it is by source."""

    order: Order
    column: Column | None

    def keys(self, values: pa.Array) -> Keys:
        """Return keys that are smaller for better rows."""
        keys = _numbers(values)
        if self.order in ("longest", "newest", "highest"):
            keys = ~keys
        keys[pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)] = _LAST
        return keys


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
    shuffle: Shuffle = "auto"  # how candidates travel where tasks choose

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
        found += [preference.column for preference in self.preferences if preference.column is not None]
        found += [] if self.digest is None else [self.digest]
        return tuple(dict.fromkeys(found))


def leaves_of(kind: Kind) -> tuple[str, ...]:
    """Return the columns of a kind's layer that the choice reads."""
    distinct = find_kind(kind).distinct
    return ("cluster", "size") if distinct is None else ("cluster", "size", distinct)


def bind_preferences(
    config: DedupeConfig, known: Mapping[str, ColumnInfo], columns: Mapping[str, Column]
) -> tuple[BoundPreference, ...]:
    """Return the recipe's preferences, bound to their columns; ids decide between rows that are otherwise equal.

    RecipeError if a column does not exist, is computed too late, or has values without an order.
    """
    problems = Problems()
    bound = []
    for number, preference in enumerate(config.representative):
        where = f"dedupe.representative[{number}]"
        if preference.order == "id":
            break  # ids differ, so later preferences never decide
        if preference.order == "source":
            bound.append(BoundPreference("source", None))
            continue
        name = _column_name(preference, known)
        complaint = _complaint(name, known)
        if complaint is None:
            bound.append(BoundPreference(preference.order, columns[name]))
        else:
            problems.add(config.place, where, complaint)
    problems.stop_if_any()
    return tuple(bound)


def source_keys(recipe_sources: tuple[str, ...], source: str, rows: int) -> Keys:
    """Return the position of the rows' source in the recipe; a source that it no longer has comes last."""
    place = recipe_sources.index(source) if source in recipe_sources else len(recipe_sources)
    return np.full(rows, place, np.uint64)


def _column_name(preference: Preference, known: Iterable[str]) -> str:
    if preference.column is not None:
        return preference.column
    if preference.order in ("newest", "oldest"):
        return FETCHED_AT
    return next((name for name in LENGTHS if name in known), LENGTHS[-1])


def _complaint(name: str, known: Mapping[str, ColumnInfo]) -> str | None:
    info = known.get(name)
    if info is None:
        return f"unknown column {shown(name)}{suggestion(name, known)}"
    if info.phase != "eligible":
        return f"{name} is computed after duplicates are found, so it cannot choose among them"
    kind = info.type
    if kind is not None and not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
    ):
        return f"{name} is {kind}; a preference needs a number, a time or a flag"
    return None


def _numbers(values: pa.Array) -> Keys:
    """Return unsigned integers in the order of the values."""
    if pa.types.is_floating(values.type):
        raw = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0  # -0 is 0
        bits = raw.view(np.uint64)
        floats: Keys = np.where(bits & _SIGN, ~bits, bits | _SIGN)
        return floats
    if pa.types.is_unsigned_integer(values.type):
        unsigned: Keys = pc.fill_null(values.cast(pa.uint64()), 0).to_numpy(zero_copy_only=False).copy()
        return unsigned
    if values.type.bit_width == 32 and pa.types.is_temporal(values.type):
        values = values.cast(pa.int32())  # 32-bit dates and times cannot be cast to int64 directly
    integers: NDArray[np.int64] = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    signed: Keys = integers.astype(np.int64).view(np.uint64) ^ _SIGN
    return signed
