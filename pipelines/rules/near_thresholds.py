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
from winnow.pipelines.rules.deciding import languages_of
from winnow.pipelines.rules.evaluation import threshold_columns
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
    limit: float  # the threshold: of a table, that of the sample's own row
    language: str


@dataclass(frozen=True, slots=True)
class SampleFilter:
    """The samples that count; empty means all."""

    language: str = ""
    source: str = ""
    reason: str = ""  # of a rule that drops them


EVERY = SampleFilter()


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
    limit: str  # the threshold, likewise
    language: str

    @property
    def distance(self) -> float:
        """How far it is from the threshold."""
        return abs(float(self.value) - float(self.limit))


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
    return tuple((rule, cut) for rule in program.rules for cut in cuts_of(rule.rule.drop) if cut.column in known)


def sides_in_shard(
    pinned: PinnedProgram, number: int, shard: ShardObjects, nearest: int = NEAREST, among: SampleFilter = EVERY
) -> list[Sides]:
    """Return both sides of every threshold in one shard, naming at most `nearest` rows per side; only rows in `among`
    count."""
    cuts = [cut for _, cut in threshold_cuts(pinned.program)]
    if not cuts or among.source not in ("", shard.source):
        return [Sides()] * len(cuts)
    wanted = {cut.column for cut in cuts} | {table.key for table in pinned.program.tables}
    columns = [column for column in pinned.program.columns if column.name in wanted]
    columns += [column for column in pinned.languages if column not in columns]
    parts: list[list[Sides]] = [[] for _ in cuts]
    start = 0
    for block in read_aligned(pinned.store.objects, shard.objects, columns, ROW_GROUP_ROWS, shard.hidden):
        rows = len(next(iter(block.values())))
        languages = languages_of(block, pinned.languages, rows)
        counted = np.ones(rows, np.bool_) if not among.language else _equal(languages, among.language)
        limits = threshold_columns(pinned.program.tables, block)
        for part, cut in zip(parts, cuts, strict=True):
            limit = limits[cut.table] if cut.value is None else pa.array(np.full(rows, cut.value))
            part.append(_sides(block[cut.column], cut, limit, _Block(number, start, counted, languages), nearest))
        start += rows
    return [merged_sides(part, nearest) for part in parts]


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows of a shard."""

    shard: int
    start: int
    counted: NDArray[np.bool_]
    languages: pa.DictionaryArray


def _equal(languages: pa.DictionaryArray, wanted: str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.equal(languages.cast(pa.string()), wanted), False).to_numpy(zero_copy_only=False))


def merged_sides(parts: Iterable[Sides], nearest: int = NEAREST) -> Sides:
    """Return the sums of several parts, with the nearest rows of all."""
    every = list(parts)

    def merged(sides: list[Side]) -> Side:
        near = heapq.merge(*(side.nearest for side in sides), key=_order)
        return Side(sum(side.rows for side in sides), tuple(itertools.islice(near, nearest)))

    return Sides(
        merged([one.met for one in every]), merged([one.unmet for one in every]), sum(one.null for one in every)
    )


def near_thresholds(
    pinned: PinnedProgram, generation: Generation, text: tuple[str, ...], sides: Sequence[Sides], reason: str = ""
) -> list[NearThreshold]:
    """Return every threshold of the rules, in order, with the samples nearest to it.

    `text`: the columns of texts, in order of preference; `sides`: of each threshold; `reason`: leave out rules with
    others, if not empty.
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


def _sides(array: pa.Array, cut: Cut, limits: pa.Array, block: _Block, most: int) -> Sides:
    """Return both sides in a block of a shard; a column that is not numeric is ignored.

    A list has a value for each medium, which rules of `items` compare; each counts, and is shown by its row. A row
    without a threshold of its own is null.
    """
    numbers = np.arange(len(array))
    if pa.types.is_list(array.type):
        numbers, array = np.repeat(numbers, list_counts(array)), array.flatten()
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return Sides()
    limit = limits.to_numpy(zero_copy_only=False)[numbers]
    counted = block.counted[numbers]
    valid = array.is_valid().to_numpy(zero_copy_only=False) & limits.is_valid().to_numpy(zero_copy_only=False)[numbers]
    null = int((counted & ~valid).sum())
    valid &= counted
    values = array.filter(pa.array(valid)).cast(pa.float64()).to_numpy(zero_copy_only=False)
    rows, limit = numbers[valid], limit[valid]
    met = pc.call_function(_COMPARISONS[cut.operator], [pa.array(values), pa.array(limit)]).to_numpy(
        zero_copy_only=False
    )
    yes, no = (_side(block, rows[which], values[which], limit[which], most) for which in (met, ~met))
    return Sides(yes, no, null)


def _side(
    block: _Block, rows: NDArray[np.int64], values: NDArray[np.float64], limits: NDArray[np.float64], most: int
) -> Side:
    count = len(rows)
    distances = np.abs(values - limits)
    if count > most:
        close = distances <= np.partition(distances, most - 1)[most - 1]
        rows, values, limits, distances = rows[close], values[close], limits[close], distances[close]
    order = np.argsort(distances, kind="stable")[:most]
    languages = block.languages.take(pa.array(rows[order])).to_pylist()
    found = zip(rows[order].tolist(), values[order].tolist(), limits[order].tolist(), languages, strict=True)
    return Side(
        count,
        tuple(
            NearRow(block.shard, block.start + row, repr(value), repr(limit), language or "")
            for row, value, limit, language in found
        ),
    )


def _order(near: NearRow) -> tuple[float, int, int]:
    return near.distance, near.shard, near.row


def _border(
    program_rule: ProgramRule,
    cut: Cut,
    sides: Sides,
    names: Sequence[str],
    samples: Mapping[tuple[str, int], TextPreview],
) -> NearThreshold:
    def shown(side: Side) -> tuple[NearSample, ...]:
        found = ((samples[names[near.shard], near.row], near) for near in side.nearest)
        return tuple(
            NearSample(one.id, one.source, one.url, float(near.value), one.text, float(near.limit), near.language)
            for one, near in found
        )

    met, unmet = sides.met, sides.unmet
    return NearThreshold(
        program_rule.phase, program_rule.rule.reason, cut, met.rows, unmet.rows, sides.null, shown(met), shown(unmet)
    )
