"""A page of samples: which rows it shows, in which order, and what it says of each."""

from collections.abc import Iterable
from math import gcd
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.reading.text_previews import read_previews
from winnow.pipelines.store import layout
from winnow.runners.inspect.dimensions import floats_of
from winnow.runners.inspect.frame import Frame, Marks, Rows
from winnow.runners.inspect.measures import chunks_of, find_column, frame_layers, held_measure, numbers_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError
from winnow.schemas.identity import Json
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rules.conditions import Cut
from winnow.schemas.rules.thresholds import lookup

PAGE: Final = 20
_TOGETHER: Final = 5  # rows that are neighbours among those chosen: a page reads few parts of few files


def spread_page(marks: Marks, page: int, size: int = PAGE) -> Rows:
    """One page of all marked rows in an order that goes over the whole store, a few neighbours at a time.

    Each row is on one page; the order is always the same.
    """
    rows = np.flatnonzero(marks)
    whole = len(rows) // _TOGETHER
    step = max(1, int(whole * 0.618))
    while whole and gcd(step, whole) != 1:
        step += 1
    wanted = np.arange(page * size, min((page + 1) * size, len(rows)))
    block, inside = wanted // _TOGETHER, wanted % _TOGETHER
    moved = np.where(block < whole, block * step % max(1, whole), block)
    return rows[moved * _TOGETHER + inside]


def nearest_page(
    opened: Opened, frame: Frame, marks: Marks, cut: Cut, page: int, size: int = PAGE
) -> tuple[Rows, list[float], list[float]]:
    """One page of the marked rows that have a value for a threshold, nearest first, with value and threshold of each;
    of values of several media, the nearest counts."""
    rows = np.flatnonzero(marks)
    values, limits = values_beside(opened, frame, cut, rows)
    distance = np.abs(values - limits)
    there = np.flatnonzero(~np.isnan(distance))
    end = min((page + 1) * size, len(there))
    some = there if end >= len(there) else there[distance[there] <= np.partition(distance[there], end - 1)[end - 1]]
    order = some[np.argsort(distance[some], kind="stable")][page * size : end]
    return rows[order], values[order].tolist(), limits[order].tolist()


def values_beside(
    opened: Opened, frame: Frame, cut: Cut, rows: Rows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The value and the threshold of some rows, which ascend; NaN for none."""
    limits = np.full(len(rows), np.nan if cut.value is None else cut.value)
    values = np.full(len(rows), np.nan)
    measure = numbers_of(opened, frame, cut.column)
    table = next((one for one in frame.rules.tables if cut.table.startswith(f"thresholds.{one.name}.")), None)
    keys = None if table is None else held_measure(opened, frame, find_column(opened, table.key))
    for number, (start, end) in enumerate(chunks_of(frame)):
        own = slice(*np.searchsorted(rows, [start, end]).tolist())
        at = rows[own] - start
        if table is not None and keys is not None and cut.value is None:
            column = cut.table.removeprefix(f"thresholds.{table.name}.")
            limits[own] = floats_of(lookup(table, keys.some(number, at), column))
        values[own] = _nearest(measure.some(number, at), limits[own])
    return values, limits


def _nearest(values: pa.Array, limits: NDArray[np.float64]) -> NDArray[np.float64]:
    if not pa.types.is_list(values.type):
        return floats_of(values)
    found = np.full(len(values), np.nan)
    inner, rows = floats_of(values.flatten()), np.asarray(pc.list_parent_indices(values))
    distance = np.where(np.isnan(inner), np.inf, np.abs(inner - limits[rows]))
    order = np.lexsort((distance, rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    found[rows[first]] = inner[first]
    return found


def ordered_page(
    opened: Opened, frame: Frame, marks: Marks, name: str, page: int, size: int = PAGE, *, descending: bool
) -> Rows:
    """One page of the marked rows by a measure; rows without a value come last."""
    rows = np.flatnonzero(marks)
    values, _ = values_beside(opened, frame, Cut(name, ">", 0.0), rows)
    keys = np.where(np.isnan(values), np.inf, -values if descending else values)
    end = min((page + 1) * size, len(rows))
    some = np.arange(len(rows))
    if end < len(rows) and end:
        some = np.flatnonzero(keys <= np.partition(keys, end - 1)[end - 1])
    return rows[some[np.argsort(keys[some], kind="stable")][page * size : end]]


def text_columns(opened: Opened) -> tuple[str, ...]:
    """The columns of texts, the best first, whose layers every shard has."""
    layers = frame_layers(opened)
    guessed = (*(f"{layer}.text" for layer in sorted(layers) if layer.startswith(EXTRACTED)), f"{layout.SAMPLES}.text")
    names = guessed if opened.recipe is None else opened.recipe.config.text
    return tuple(name for name in names if column_of(name, layers) is not None)


def shown_rows(opened: Opened, frame: Frame, rows: Iterable[int]) -> list[dict[str, Json]]:
    """What the page says of some rows, none of which is forgotten, in their order."""
    places = [(row, *frame.place(row)) for row in rows]
    wanted: dict[str, set[int]] = {}
    for row, shard, number in places:
        if not frame.seen[row]:
            raise AskedError(f"row {row} is not there")
        wanted.setdefault(shard.shard, set()).add(number)
    previews = read_previews(opened.store, opened.generation, text_columns(opened), wanted)
    found: list[dict[str, Json]] = []
    for row, shard, number in places:
        preview, first = previews[shard.shard, number], int(frame.first[row])
        found.append(
            {
                "id": preview.id,
                "row": row,
                "source": preview.source,
                "language": frame.languages[int(frame.language[row])],
                "reason": None if first < 0 else frame.rules.all_reasons[first],
                "reasons": list(frame.reasons(row)),
                "kept": None if frame.why_no_rules else first < 0,
                "bytes": int(frame.size[row]),
                "url": preview.url,
                "modality": preview.modality,
                "preview": preview.text,
            }
        )
    return found
