"""Finds the samples nearest to each rule threshold, on both sides, for review.

The threshold's column is read once for every shard; texts are read only for the samples that are shown.
"""

import heapq
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.reading.columns import read_aligned
from winnow.pipelines.reading.items import list_counts
from winnow.pipelines.reading.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.records import Generation
from winnow.schemas.rules.conditions import Cut, cuts_of

NEAREST = 10

_COMPARISONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


@dataclass(frozen=True, slots=True)
class NearSample:
    """A sample near a threshold."""

    id: str
    source: str
    url: str | None
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class NearThreshold:
    """One threshold of one rule: how many samples are on each side, and the nearest ones."""

    phase: str
    reason: str
    cut: Cut
    met: int  # rows, or media for rules of `items`, for which the comparison holds
    unmet: int
    null: int
    met_samples: tuple[NearSample, ...]  # nearest first
    unmet_samples: tuple[NearSample, ...]


@dataclass(frozen=True, slots=True)
class NearRow:
    """A row near a threshold, by its place."""

    shard: int  # its number among the shards of the generation
    row: int
    value: str  # in Python's notation, as JSON has no infinity


@dataclass(frozen=True, slots=True)
class Side:
    """The rows on one side of a threshold."""

    rows: int = 0
    nearest: tuple[NearRow, ...] = ()  # nearest first


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a threshold."""

    met: Side = Side()
    unmet: Side = Side()
    null: int = 0


def threshold_cuts(program: RuleProgram) -> tuple[tuple[ProgramRule, Cut], ...]:
    """Return the comparisons of columns with numbers in the conditions of the rules, in order."""
    known = {column.name for column in program.columns}
    return tuple((one, cut) for one in program.rules for cut in cuts_of(one.rule.drop) if cut.column in known)


def sides_in_shard(pinned: PinnedProgram, number: int, shard: ShardObjects, nearest: int = NEAREST) -> list[Sides]:
    """Return both sides of every threshold in one shard.

    Args:
        pinned: The rules.
        number: The number of the shard.
        shard: The shard.
        nearest: How many rows to name per side.
    """
    cuts = [cut for _, cut in threshold_cuts(pinned.program)]
    if not cuts:
        return []
    wanted = {cut.column for cut in cuts}
    columns = [column for column in pinned.program.columns if column.name in wanted]
    parts: list[list[Sides]] = [[] for _ in cuts]
    start = 0
    for block in read_aligned(pinned.store.objects, shard.objects, columns, ROW_GROUP_ROWS, shard.hidden):
        for part, cut in zip(parts, cuts, strict=True):
            part.append(_sides(block[cut.column], cut, number, start, nearest))
        start += len(next(iter(block.values())))
    return [merged_sides(cut, part, nearest) for cut, part in zip(cuts, parts, strict=True)]


def merged_sides(cut: Cut, parts: Iterable[Sides], nearest: int = NEAREST) -> Sides:
    """Return the sums of several parts, with the nearest rows of all."""
    every = list(parts)

    def merged(sides: list[Side]) -> Side:
        near = heapq.merge(*(side.nearest for side in sides), key=lambda one: _order(cut, one))
        return Side(sum(side.rows for side in sides), tuple(itertools.islice(near, nearest)))

    return Sides(
        merged([one.met for one in every]), merged([one.unmet for one in every]), sum(one.null for one in every)
    )


def near_thresholds(
    pinned: PinnedProgram, generation: Generation, text: tuple[str, ...], sides: Sequence[Sides], reason: str = ""
) -> list[NearThreshold]:
    """Return every threshold of the rules, in order, with the samples nearest to it.

    Args:
        pinned: The rules and the objects that they read.
        generation: The generation that they are pinned to.
        text: The columns of the recipe's text, in order of preference.
        sides: Both sides of each threshold.
        reason: Leave out rules with other reasons, if this is not empty.
    """
    found = [
        (one, cut, both)
        for (one, cut), both in zip(threshold_cuts(pinned.program), sides, strict=True)
        if reason in ("", one.rule.reason)
    ]
    shown: dict[str, set[int]] = {}
    for near in (near for _, _, both in found for near in (*both.met.nearest, *both.unmet.nearest)):
        shown.setdefault(pinned.shards[near.shard].shard, set()).add(near.row)
    samples = read_previews(pinned.store, generation, text, shown)
    names = [shard.shard for shard in pinned.shards]
    return [_border(one, cut, both, names, samples) for one, cut, both in found]


def counted_thresholds(pinned: PinnedProgram, sides: Sequence[Sides]) -> list[NearThreshold]:
    """Return every threshold of the rules, in order, without samples."""
    return [
        NearThreshold(one.phase, one.rule.reason, cut, both.met.rows, both.unmet.rows, both.null, (), ())
        for (one, cut), both in zip(threshold_cuts(pinned.program), sides, strict=True)
    ]


def _sides(array: pa.Array, cut: Cut, shard: int, start: int, most: int) -> Sides:
    """Return both sides in a block of a shard, from row `start` on; a column that is not numeric is ignored.

    A list has a value for each medium, which rules of `items` compare; each counts, and is shown by its row.
    """
    numbers = np.arange(len(array)) + start
    if pa.types.is_list(array.type):
        numbers, array = np.repeat(numbers, list_counts(array)), array.flatten()
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return Sides()
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    rows = numbers[valid]
    values = array.drop_null().cast(pa.float64()).to_numpy(zero_copy_only=False)
    met = pc.call_function(_COMPARISONS[cut.operator], [pa.array(values), pa.scalar(cut.value)]).to_numpy(
        zero_copy_only=False
    )
    yes, no = (_side(shard, rows[which], values[which], cut, most) for which in (met, ~met))
    return Sides(yes, no, int(array.null_count))


def _side(shard: int, rows: NDArray[np.int64], values: NDArray[np.float64], cut: Cut, most: int) -> Side:
    count = len(rows)
    distances = np.abs(values - cut.value)
    if count > most:
        close = distances <= np.partition(distances, most - 1)[most - 1]
        rows, values, distances = rows[close], values[close], distances[close]
    order = np.argsort(distances, kind="stable")[:most]
    found = zip(rows[order].tolist(), values[order].tolist(), strict=True)
    return Side(count, tuple(NearRow(shard, row, repr(value)) for row, value in found))


def _order(cut: Cut, near: NearRow) -> tuple[float, int, int]:
    return abs(float(near.value) - cut.value), near.shard, near.row


def _border(
    one: ProgramRule, cut: Cut, sides: Sides, names: Sequence[str], samples: Mapping[tuple[str, int], TextPreview]
) -> NearThreshold:
    def shown(side: Side) -> tuple[NearSample, ...]:
        found = ((samples[names[near.shard], near.row], float(near.value)) for near in side.nearest)
        return tuple(NearSample(one.id, one.source, one.url, value, one.text) for one, value in found)

    met, unmet = sides.met, sides.unmet
    return NearThreshold(one.phase, one.rule.reason, cut, met.rows, unmet.rows, sides.null, shown(met), shown(unmet))
