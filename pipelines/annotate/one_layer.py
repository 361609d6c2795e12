"""Runs one operator on one batch, with its inputs: columns, captions, pictures or their files."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import CAPTIONS, Kernel, PictureOperator, TextOperator
from winnow.pipelines.annotate.item_rows import measure_items
from winnow.pipelines.annotate.rows import BatchRows, Excluded, measure
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.media.pictures import Pictures
from winnow.pipelines.reading.chosen_captions import chosen_captions
from winnow.pipelines.reading.conditions import selected_rows
from winnow.schemas.rules.conditions import columns_read


def selected(bound: BoundOperator, rows: BatchRows) -> NDArray[np.bool_] | None:
    """The rows that an operator's condition selects; None for all."""
    if bound.where is None:
        return None
    return selected_rows(bound.where, {name: rows[name] for name in columns_read(bound.where)}, rows.count)


def layer_of_batch(
    bound: BoundOperator, kernel: Kernel, rows: BatchRows, excluded: Excluded, pictures: Pictures | None
) -> pa.RecordBatch:
    """Return an operator's layer for a batch.

    `rows` holds all that the operator reads; the recipe's captions are added on first use. `pictures` are the items of
    the batch, for an operator that looks at pictures. The operator watches no videos.
    """
    operator = bound.operator
    if isinstance(operator, PictureOperator):
        assert pictures is not None
        looked_at = pictures.files() if operator.files else pictures.decoded(operator.side(bound.config))
        return measure_items(operator, kernel, bound.schema, looked_at, rows, excluded)
    assert isinstance(operator, TextOperator)
    names = operator.reads(bound.config)
    if CAPTIONS in names and CAPTIONS not in rows:  # not earlier: another operator of the pass may write these columns
        rows.add({CAPTIONS: chosen_captions([rows[name] for name in bound.captions])})
    return measure(operator, kernel, bound.schema, names, rows, excluded, bound.max_text_bytes)
