"""Runs operators on the items of one batch: a list for each measure, aligned with the sample's media (law 2)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.operators import STATUS, Kernel, Operator
from winnow.filters.video.decode.operator import Watcher
from winnow.pipelines.annotate.rows import BatchRows, Excluded, check_measured, excluded_codes, run_kernel
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.media.pictures import Items
from winnow.pipelines.media.videos.videos import Videos, Watching
from winnow.schemas.rows.measured import STATUSES


@dataclass(frozen=True, slots=True)
class AskedItems:
    """The items of a batch that an operator measures: where each row's begin, each row's status code, and the items."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int8]  # indices of `STATUSES`
    items: NDArray[np.int64]


def asked_items(offsets: NDArray[np.int64], batch: BatchRows, excluded: Excluded) -> AskedItems:
    """Return the items of a batch that an operator measures, given the rows that it does not."""
    codes = excluded_codes((), batch, excluded)
    counts = np.diff(offsets)
    codes[(codes == 0) & (counts == 0)] = STATUSES.index("no_input")
    return AskedItems(offsets, codes, np.flatnonzero(np.repeat(codes == 0, counts)))


def measure_items(
    operator: Operator, kernel: Kernel, schema: pa.Schema, looked_at: Items, batch: BatchRows, excluded: Excluded
) -> pa.RecordBatch:
    """Return the layer of a batch for an operator that looks at pictures or their files (`looked_at`)."""
    asked = asked_items(looked_at.offsets, batch, excluded)
    measured = ((items, run_kernel(operator, kernel, given)) for items, given in looked_at.batches(asked.items))
    return _layer(operator, schema, asked, measured, looked_at.statuses)


def watch_items(
    operators: Sequence[BoundOperator],
    makers: Mapping[str, Callable[[], Watcher]],
    videos: Videos,
    batch: BatchRows,
    excluded: Sequence[Excluded],
) -> dict[str, pa.RecordBatch]:
    """Return the layers of a batch for operators that watch videos: each video is decoded once for all of them."""
    asked = [asked_items(videos.offsets, batch, one) for one in excluded]
    watching = [
        Watching(bound.signals, makers[bound.layer], one.items) for bound, one in zip(operators, asked, strict=True)
    ]
    found = {}
    for bound, one, rows in zip(operators, asked, videos.watch(watching), strict=True):
        nothing = pa.RecordBatch.from_pylist([], schema=_measures(bound.schema))
        measured = ((np.array([item]), row) for item, row in rows.items())
        measured_or_nothing = measured if rows else iter([(np.empty(0, np.int64), nothing)])
        found[bound.layer] = _layer(bound.operator, bound.schema, one, measured_or_nothing, videos.statuses)
    return found


def _measures(schema: pa.Schema) -> pa.Schema:
    """The columns that an operator returns, given those of its layer."""
    return pa.schema([STATUS, *(pa.field(field.name, field.type.value_type) for field in list(schema)[2:])])


def _layer(
    operator: Operator,
    schema: pa.Schema,
    asked: AskedItems,
    measured: Iterable[tuple[NDArray[np.int64], pa.RecordBatch]],
    unmeasured: Sequence[str | None],
) -> pa.RecordBatch:
    """The layer: what the operator returned for some items, and a status for each item that was not measured."""
    measures = _measures(schema)
    places = np.full(int(asked.offsets[-1]), -1, np.int64)
    statuses = np.full(len(places), None, object)
    parts: list[list[pa.Array]] = []
    done = 0
    for items, found in measured:
        check_measured(operator, measures, found, len(items))
        places[items] = np.arange(done, done + len(items))
        done += len(items)
        if STATUS.name in found.schema.names:
            statuses[items] = found.column(STATUS.name).to_pylist()
        parts.append([found.column(field.name) for field in list(measures)[1:]])
    for item in asked.items.tolist():
        statuses[item] = statuses[item] or unmeasured[item]
    at = pa.array(places, mask=places < 0)
    columns = [pa.array(statuses, pa.string())]
    columns += [pc.take(pa.concat_arrays(arrays), at) for arrays in zip(*parts, strict=True)]
    offsets = pa.array(asked.offsets.astype(np.int32), mask=np.append(asked.codes != 0, False))
    lists = [pa.ListArray.from_arrays(offsets, column) for column in columns]
    own = pa.array(np.array(STATUSES, dtype=object)[asked.codes], pa.string())
    return pa.RecordBatch.from_arrays([own, *lists], schema=schema)
