"""Chooses pictures and videos to look at: random ones, those that a rule drops, and the nearest to a threshold.

Shards are read one after another, only the columns that are needed, and only the best so far are held. Forgotten rows
are never chosen, as they have no items.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.media.thumbnails import ItemPlace
from winnow.pipelines.reading.columns import Column, column_of, read_aligned
from winnow.pipelines.reading.items import item_ids, list_counts, rows_and_items
from winnow.pipelines.rules.deciding import choose_representatives, decide
from winnow.pipelines.rules.decisions import Masks, has_rule
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.rules.conditions import LIST_FUNCTIONS, Cut, cuts_of
from winnow.schemas.uint128 import words_of
from winnow.scoring.selection.ranks import hashes

PURPOSE: Final = "contact_sheet"
_ID, _MEDIA = Column(layout.SAMPLES, "id"), Column(layout.SAMPLES, "media")

Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, order=True)
class ChosenItem:
    """A picture, by the order in which it is chosen: the lowest first."""

    order: float
    place: ItemPlace
    value: float | None = None  # what is compared with the threshold


@dataclass(frozen=True, slots=True)
class NearItems:
    """The pictures nearest to a threshold, nearest first."""

    cut: Cut
    met: tuple[ChosenItem, ...]  # for which the comparison holds
    unmet: tuple[ChosenItem, ...]


def random_items(pinned: PinnedProgram, seed: int, most: int) -> tuple[ChosenItem, ...]:
    """A sample of all pictures, in the order of a hash of their ids."""
    found = (one for shard in pinned.shards for one in _hashed(pinned, shard, seed, most, None))
    return tuple(heapq.nsmallest(most, found))


def dropped_items(pinned: PinnedProgram, reason: str, seed: int, most: int) -> tuple[ChosenItem, ...]:
    """A sample of the pictures of rows that rules with this reason drop, whatever other rules decide.

    For rules of `items`, the pictures that they drop themselves. UndecidedError if a rule cannot be decided for a row.
    """
    rules = [rule.phase for rule in pinned.program.rules]
    numbers = [number for number, name in enumerate(pinned.program.reasons) if name == reason]
    of_rows = [number for number in numbers if rules[number] != "items"]
    of_items = [number for number in numbers if rules[number] == "items"]
    shards = {shard.shard: shard for shard in pinned.shards}

    def found() -> Iterator[ChosenItem]:
        for decisions in decide(pinned, duplicates=choose_representatives(pinned)):
            own = _media_of(pinned, shards[decisions.shard])
            fired = np.repeat(_fired(decisions.fired, of_rows), own)
            if decisions.items is not None:  # of pages, pictures of other rows, which are shown with these
                fired |= _fired(decisions.items.fired, of_items)[np.repeat(own > 0, decisions.items.numbers)]
            if fired.any():
                yield from _hashed(pinned, shards[decisions.shard], seed, most, fired)

    return tuple(heapq.nsmallest(most, found()))


def _fired(masks: Masks, numbers: Sequence[int]) -> Marks:
    """Which masks have one of these rules."""
    fired = np.zeros(len(masks), np.bool_)
    for number in numbers:
        fired |= has_rule(masks, number)
    return fired


def _media_of(pinned: PinnedProgram, shard: ShardObjects) -> Rows:
    """How many media each row of a shard has."""
    blocks = read_aligned(pinned.store.objects, _samples(shard), [_MEDIA], ROW_GROUP_ROWS, shard.hidden)
    return np.concatenate([np.zeros(0, np.int64), *(list_counts(block[_MEDIA.name]) for block in blocks)])


def _hashed(
    pinned: PinnedProgram, shard: ShardObjects, seed: int, most: int, wanted: Marks | None
) -> Iterator[ChosenItem]:
    """The first pictures of a shard in the order of the hash, of the wanted media or of all."""
    start = first = 0
    for block in read_aligned(pinned.store.objects, _samples(shard), [_ID, _MEDIA], ROW_GROUP_ROWS, shard.hidden):
        media = block[_MEDIA.name]
        rows, items, pictures = _pictures(media)
        if wanted is not None:
            pictures = pictures & wanted[first : first + len(rows)]
        first += len(rows)
        rows, items = rows[pictures], items[pictures]
        order = hashes(words_of(item_ids(block[_ID.name].take(pa.array(rows)), items)), seed, PURPOSE)
        for at in np.argsort(order, kind="stable")[:most].tolist():
            yield ChosenItem(int(order[at]), ItemPlace(shard.shard, start + int(rows[at]), int(items[at])))
        start += len(media)


def _samples(shard: ShardObjects) -> dict[str, str]:
    return {layout.SAMPLES: shard.objects[layout.SAMPLES]}


def _pictures(media: pa.ListArray) -> tuple[Rows, Rows, Marks]:
    """The row and the number of every item, and whether it can be shown: a picture, or a video."""
    rows, items = rows_and_items(list_counts(media))
    types = pc.struct_field(media.flatten(), "mime")
    shown = pc.or_(pc.starts_with(types, "image/"), pc.starts_with(types, "video/"))
    return rows, items, shown.to_numpy(zero_copy_only=False).astype(np.bool_)


def item_cuts(pinned: PinnedProgram, reason: str) -> tuple[Cut, ...]:
    """The thresholds of the rules with this reason; those of the least or greatest of a list are of its items."""
    known = {column.name for column in pinned.program.columns}
    rules = (one.rule for one in pinned.program.rules if one.rule.reason == reason)
    found = (
        cut
        for rule in rules
        for cut in cuts_of(rule.drop, LIST_FUNCTIONS)
        if cut.column in known and cut.value is not None
    )
    return tuple(dict.fromkeys(found))


def items_near(pinned: PinnedProgram, cut: Cut, most: int) -> NearItems:
    """The pictures whose values are nearest to a threshold, on both sides of it.

    A column with a value for each item is of the items; any other column is of the rows, whose first picture is chosen.
    """
    column = column_of(cut.column, {one.layer for one in pinned.program.columns} | {layout.SAMPLES})
    assert column is not None
    met: list[ChosenItem] = []
    unmet: list[ChosenItem] = []
    for shard in pinned.shards:
        objects = _samples(shard) | {column.layer: shard.objects[column.layer]}
        start = 0
        for block in read_aligned(pinned.store.objects, objects, [_MEDIA, column], ROW_GROUP_ROWS, shard.hidden):
            found = list(_near(block[_MEDIA.name], block[column.name], cut, shard.shard, start, most))
            met = heapq.nsmallest(most, [*met, *(one for one, holds in found if holds)])
            unmet = heapq.nsmallest(most, [*unmet, *(one for one, holds in found if not holds)])
            start += len(block[_MEDIA.name])
    return NearItems(cut, tuple(met), tuple(unmet))


def _near(
    media: pa.ListArray, column: pa.Array, cut: Cut, shard: str, start: int, most: int
) -> Iterator[tuple[ChosenItem, bool]]:
    """The nearest pictures of a block on each side, and whether the comparison holds for them."""
    kind = column.type
    if pa.types.is_list(kind):
        rows, items = rows_and_items(list_counts(column))
        values = column.flatten()
        if not (list_counts(column) == list_counts(media))[rows].all():
            items = np.zeros_like(rows)  # of captions, say
    else:
        rows, items, values = np.arange(len(column)), np.zeros(len(column), np.int64), column
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    _, _, pictures = _pictures(media)
    first = np.cumsum(list_counts(media)) - list_counts(media)
    there = items < list_counts(media)[rows]
    there[there] = pictures[(first[rows] + items)[there]]
    there &= np.isfinite(numbers)
    assert cut.value is not None
    distance = np.abs(numbers - cut.value)
    holds = _HOLDS[cut.operator](numbers, cut.value)
    for side in (there & holds, there & ~holds):
        at = np.flatnonzero(side)
        for one in at[np.argsort(distance[at], kind="stable")[:most]].tolist():
            place = ItemPlace(shard, start + int(rows[one]), int(items[one]))
            yield ChosenItem(float(distance[one]), place, float(numbers[one])), bool(holds[one])


_HOLDS: Final = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
