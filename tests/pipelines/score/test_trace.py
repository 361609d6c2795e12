"""A trace does not depend on how its shard is read, even if losses need a batch."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from winnow.pipelines.media.score_inputs import DECODED
from winnow.pipelines.score.trace import PendingRows, Tracer, score_pending
from winnow.schemas.rows.scores import trace_schema
from winnow.scoring.tasks.protocol import Encoded, Floats


class SharesOfThree:
    """The value of an example is its share of its batch of three; a batch of one has no value."""

    reads = ("text",)
    batch_size = 3

    @property
    def task(self) -> "SharesOfThree":
        return self

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        raise NotImplementedError(rows)

    def joined(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts)

    def chosen(self, examples: Any, which: NDArray[np.int64]) -> Any:
        return examples[which]

    def values(self, examples: Any) -> Floats:
        shares = []
        for start in range(0, len(examples), 3):
            batch = examples[start : start + 3]
            shares += [np.nan] if len(batch) == 1 else list(batch / batch.sum())
        return np.array(shares)[:, None]


STATUSES = ["ok", "no_input", "ok", "ok", "ok", "left_out", "ok", "ok", "ok", "no_input"]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 10])
def test_batches_follow_the_order_of_a_shards_rows_however_it_is_read(step: int) -> None:
    columns = pa.Table.from_batches(trace_in_steps(step)).combine_chunks().to_pydict()
    assert columns["status"] == ["ok", "no_input", "ok", "ok", "ok", "left_out", "ok", "ok", "alone", "no_input"]
    assert columns["m1"] == pytest.approx([1 / 6, None, 2 / 6, 3 / 6, 4 / 15, None, 5 / 15, 6 / 15, None, None])


def test_eight_batches_are_scored_at_once_or_fewer_with_large_examples() -> None:
    assert [PendingRows(count=count).is_ready(3) for count in (23, 24)] == [False, True]
    assert [PendingRows(count=count, held=DECODED).is_ready(3) for count in (2, 3)] == [False, True]
    assert not PendingRows(count=23, held=DECODED - 1).is_ready(3)
    assert [PendingRows(count=23, held=DECODED // 4).is_ready(3, passes) for passes in (3, 4)] == [False, True]


def trace_in_steps(step: int) -> list[pa.RecordBatch]:
    pending, tracer = PendingRows(), cast(Tracer, SharesOfThree())
    batches, number = [], 0
    for start in range(0, len(STATUSES), step):
        part = np.array(STATUSES[start : start + step], object)
        count = int((part == "ok").sum())
        pending.add(part, np.arange(number + 1, number + count + 1, dtype=float), count)
        number += count
        batches.append(score_pending(trace_schema(0), tracer, pending, 3))
    return [*batches, score_pending(trace_schema(0), tracer, pending)]
