"""Runs one operator on the items of one batch: a list for each measure, aligned with the sample's media (law 2)."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS, Kernel, Operator
from winnow.pipelines.annotate.rows import STATUSES, BatchRows, Excluded, check_measured, excluded_codes
from winnow.pipelines.media.pictures import Items


def measure_items(
    operator: Operator, kernel: Kernel, schema: pa.Schema, looked_at: Items, batch: BatchRows, excluded: Excluded
) -> pa.RecordBatch:
    """Return the layer for a batch of an operator that looks at items.

    Args:
        operator: The operator.
        kernel: Its loaded kernel.
        schema: The layer's columns, from `layer_schema`.
        looked_at: The items of the batch's rows, as the operator looks at them.
        batch: The batch.
        excluded: The rows that are not measured.
    """
    codes = excluded_codes((), batch, excluded)
    counts = np.diff(looked_at.offsets)
    codes[(codes == 0) & (counts == 0)] = STATUSES.index("no_input")
    asked = looked_at.items_of(np.flatnonzero(codes == 0))
    measures = pa.schema([STATUS, *(pa.field(field.name, field.type.value_type) for field in list(schema)[2:])])
    places = np.full(int(looked_at.offsets[-1]), -1, np.int64)
    statuses = np.full(len(places), None, object)
    parts: list[list[pa.Array]] = []
    done = 0
    for items, given in looked_at.batches(asked):
        found = kernel(given)
        check_measured(operator, measures, found, len(items))
        places[items] = np.arange(done, done + len(items))
        done += len(items)
        if STATUS.name in found.schema.names:
            statuses[items] = found.column(STATUS.name).to_pylist()
        parts.append([found.column(field.name) for field in list(measures)[1:]])
    for item in asked.tolist():
        statuses[item] = statuses[item] or looked_at.statuses[item]
    at = pa.array(places, mask=places < 0)
    columns = [pa.array(statuses, pa.string())]
    columns += [pc.take(pa.concat_arrays(arrays), at) for arrays in zip(*parts, strict=True)]
    offsets = pa.array(looked_at.offsets.astype(np.int32), mask=np.append(codes != 0, False))
    lists = [pa.ListArray.from_arrays(offsets, column) for column in columns]
    own = pa.array(np.array(STATUSES, dtype=object)[codes], pa.string())
    return pa.RecordBatch.from_arrays([own, *lists], schema=schema)
