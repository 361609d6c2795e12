"""Finds the samples nearest to each rule threshold, on both sides, for review.

The threshold's column is read once for every shard; texts are read only for the samples that are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.query.columns import read_aligned
from winnow.pipelines.query.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.pipelines.store.together import TABLES_AT_ONCE, each
from winnow.schemas.conditions import Cut, cuts_of
from winnow.schemas.records import Generation

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
    met: int  # rows for which the comparison holds
    unmet: int
    null: int
    met_samples: tuple[NearSample, ...]  # nearest first
    unmet_samples: tuple[NearSample, ...]


@dataclass(slots=True)
class _Side:
    """The nearest rows so far, nearest first: (distance, shard number, row, value)."""

    rows: int = 0
    nearest: list[tuple[float, int, int, float]] = field(default_factory=list)

    def add(self, shard: int, rows: NDArray[np.int64], values: NDArray[np.float64], cut: float, most: int) -> None:
        self.rows += len(rows)
        distances = np.abs(values - cut)
        if len(rows) > most:
            close = distances <= np.partition(distances, most - 1)[most - 1]
            rows, values, distances = rows[close], values[close], distances[close]
        order = np.argsort(distances, kind="stable")[:most]
        found = zip(distances[order].tolist(), rows[order].tolist(), values[order].tolist(), strict=True)
        self._keep([(far, shard, row, value) for far, row, value in found], most)

    def merge(self, other: "_Side", most: int) -> None:
        self.rows += other.rows
        self._keep(other.nearest, most)

    def _keep(self, fresh: list[tuple[float, int, int, float]], most: int) -> None:
        self.nearest = sorted([*self.nearest, *fresh])[:most]


@dataclass(slots=True)
class _Sides:
    """Both sides of a threshold."""

    met: _Side = field(default_factory=_Side)
    unmet: _Side = field(default_factory=_Side)
    null: int = 0

    def add(self, array: pa.Array, cut: Cut, shard: int, start: int, most: int) -> None:
        """Add rows of a shard, from `start` on; a column that is not numeric is ignored."""
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            return
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(valid) + start
        values = array.drop_null().cast(pa.float64()).to_numpy(zero_copy_only=False)
        met = pc.call_function(_COMPARISONS[cut.operator], [pa.array(values), pa.scalar(cut.value)]).to_numpy(
            zero_copy_only=False
        )
        self.met.add(shard, rows[met], values[met], cut.value, most)
        self.unmet.add(shard, rows[~met], values[~met], cut.value, most)
        self.null += int(array.null_count)

    def merge(self, other: "_Sides", most: int) -> None:
        """Add the rows of another shard."""
        self.met.merge(other.met, most)
        self.unmet.merge(other.unmet, most)
        self.null += other.null


def find_near_thresholds(
    pinned: PinnedProgram, generation: Generation, text: tuple[str, ...], nearest: int = NEAREST
) -> list[NearThreshold]:
    """Return every threshold of the rules, in order, with the samples nearest to it.

    Args:
        pinned: The rules and the objects that they read.
        generation: The generation that they are pinned to.
        text: The columns of the recipe's text, in order of preference.
        nearest: How many samples per side.
    """
    known = {column.name: column for column in pinned.program.columns}
    cuts = [(one, cut) for one in pinned.program.rules for cut in cuts_of(one.rule.drop) if cut.column in known]
    wanted = {cut.column: known[cut.column] for _, cut in cuts}
    objects = pinned.store.objects

    def find_in_shard(numbered: tuple[int, ShardObjects]) -> list[_Sides]:
        number, shard = numbered
        found = [_Sides() for _ in cuts]
        start = 0
        for columns in read_aligned(objects, shard.objects, wanted.values(), ROW_GROUP_ROWS, shard.hidden):
            for sides, (_, cut) in zip(found, cuts, strict=True):
                sides.add(columns[cut.column], cut, number, start, nearest)
            start += len(next(iter(columns.values())))
        return found

    total = [_Sides() for _ in cuts]
    for found in each(objects, find_in_shard, enumerate(pinned.shards if cuts else ()), TABLES_AT_ONCE):
        for sides, more in zip(total, found, strict=True):
            sides.merge(more, nearest)
    shown: dict[str, set[int]] = {}
    for _, number, row, _ in (near for sides in total for near in (*sides.met.nearest, *sides.unmet.nearest)):
        shown.setdefault(pinned.shards[number].shard, set()).add(row)
    names = [shard.shard for shard in pinned.shards]
    samples = read_previews(pinned.store, generation, text, shown)
    return [_border(one, cut, sides, names, samples) for (one, cut), sides in zip(cuts, total, strict=True)]


def _border(
    one: ProgramRule, cut: Cut, sides: _Sides, names: Sequence[str], samples: Mapping[tuple[str, int], TextPreview]
) -> NearThreshold:
    def shown(side: _Side) -> tuple[NearSample, ...]:
        found = ((samples[names[shard], row], value) for _, shard, row, value in side.nearest)
        return tuple(NearSample(one.id, one.source, one.url, value, one.text) for one, value in found)

    met, unmet = sides.met, sides.unmet
    return NearThreshold(one.phase, one.rule.reason, cut, met.rows, unmet.rows, sides.null, shown(met), shown(unmet))
