"""The samples nearest to each threshold of the rules, on both sides: what a person looks at before trusting a number.

Every shard's column is read once, and of the samples only those that are shown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.columns import Column, column_of, leaf_of, read_aligned
from winnow.pipelines.rules.expansion import SpeltRule
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_rows
from winnow.schemas.conditions import Cut, cuts_of
from winnow.schemas.records import Generation

NEAREST = 10
EXCERPT_CHARACTERS = 300

_WORDS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


@dataclass(frozen=True, slots=True)
class BorderSample:
    """A sample near a threshold."""

    id: str
    source: str
    url: str | None
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Border:
    """One threshold of one rule: how many samples are on each side, and the nearest of them."""

    phase: str
    reason: str
    cut: Cut
    met: int  # rows for which the comparison is true
    unmet: int
    null: int
    met_samples: tuple[BorderSample, ...]  # the nearest first
    unmet_samples: tuple[BorderSample, ...]


@dataclass(slots=True)
class _Side:
    """The nearest rows so far: (distance, number of the shard, row, value), the nearest first."""

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
        self.nearest = sorted([*self.nearest, *((far, shard, row, value) for far, row, value in found)])[:most]


def find_borders(
    pinned: PinnedProgram, generation: Generation, text: tuple[str, ...], nearest: int = NEAREST
) -> list[Border]:
    """Every threshold of the rules, in their order, with the samples around it.

    Args:
        pinned: The rules and the objects that they read.
        generation: The generation that they are pinned to.
        text: The columns that the recipe's text is made of, in order of preference.
        nearest: How many samples of each side.
    """
    known = {column.name: column for column in pinned.program.columns}
    cuts = [(one, cut) for one in pinned.program.rules for cut in cuts_of(one.rule.drop) if cut.column in known]
    sides = [(_Side(), _Side()) for _ in cuts]
    nulls = [0] * len(cuts)
    wanted = {cut.column: known[cut.column] for _, cut in cuts}
    for number, shard in enumerate(pinned.shards if cuts else ()):
        start = 0
        for columns in read_aligned(pinned.store.objects, shard.objects, wanted.values(), ROW_GROUP_ROWS, shard.hidden):
            for place, (_, cut) in enumerate(cuts):
                nulls[place] += _add(columns[cut.column], cut, number, start, sides[place], nearest)
            start += len(next(iter(columns.values())))
    samples = _samples(pinned, generation, text, (side for pair in sides for side in pair))
    return [_border(one, cut, *sides[place], nulls[place], samples) for place, (one, cut) in enumerate(cuts)]


def _add(array: pa.Array, cut: Cut, shard: int, start: int, sides: tuple[_Side, _Side], most: int) -> int:
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return 0
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(valid) + start
    values = array.drop_null().cast(pa.float64()).to_numpy(zero_copy_only=False)
    met = pc.call_function(_WORDS[cut.operator], [pa.array(values), pa.scalar(cut.value)]).to_numpy(
        zero_copy_only=False
    )
    sides[0].add(shard, rows[met], values[met], cut.value, most)
    sides[1].add(shard, rows[~met], values[~met], cut.value, most)
    return int(array.null_count)


def _border(
    one: SpeltRule,
    cut: Cut,
    met: _Side,
    unmet: _Side,
    nulls: int,
    samples: Mapping[tuple[int, int], tuple[str, str, str | None, str]],
) -> Border:
    def shown(side: _Side) -> tuple[BorderSample, ...]:
        return tuple(
            BorderSample(*samples[shard, row][:3], value, samples[shard, row][3])
            for _, shard, row, value in side.nearest
        )

    return Border(one.phase, one.rule.reason, cut, met.rows, unmet.rows, nulls, shown(met), shown(unmet))


def _samples(
    pinned: PinnedProgram, generation: Generation, text: tuple[str, ...], sides: Iterable[_Side]
) -> dict[tuple[int, int], tuple[str, str, str | None, str]]:
    """Id, source, URL and the beginning of the text of every row that is shown."""
    wanted: dict[int, set[int]] = {}
    for side in sides:
        for _, place, row, _ in side.nearest:
            wanted.setdefault(place, set()).add(row)
    columns = [column for name in text if (column := column_of(name, generation.layers)) is not None]
    objects = {
        layer: {row.shard: row.object for row in pinned.store.manifest(generation, layer)}
        for layer in {column.layer for column in columns}
    }
    found: dict[tuple[int, int], tuple[str, str, str | None, str]] = {}
    for number, rows in sorted(wanted.items()):
        shard, ordered = pinned.shards[number], sorted(rows)
        leaves = ["id", "source.name", "url"]
        table = read_rows(pinned.store.objects, shard.objects[layout.SAMPLES], ordered, leaves)
        texts = [_texts(pinned, shard, ordered, column, objects[column.layer]) for column in columns]
        facts = zip(table["id"].to_pylist(), table["source"].to_pylist(), table["url"].to_pylist(), strict=True)
        for place, (row, (identity, source, url)) in enumerate(zip(ordered, facts, strict=True)):
            shown = next((value for values in texts if (value := values[place]) is not None), "")
            found[number, row] = (identity.hex(), source["name"], url, shown)
    return found


def _texts(
    pinned: PinnedProgram, shard: ShardObjects, rows: list[int], column: Column, objects: Mapping[str, str]
) -> list[str | None]:
    table = read_rows(pinned.store.objects, objects[shard.shard], rows, [column.leaf])
    found = leaf_of(table.combine_chunks().to_batches()[0], column.leaf)
    texts: list[str | None] = pc.utf8_slice_codeunits(found, 0, EXCERPT_CHARACTERS).to_pylist()
    return texts
