"""A trace is the same however its shard is read, also where losses need a batch."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from winnow.pipelines.score.examples import DECODED
from winnow.pipelines.score.trace import Tracer, Waiting, scored
from winnow.schemas.rows.scores import trace_schema
from winnow.scoring.tasks.protocol import Encoded, Floats


class InThrees:
    """A value is the example's share of its batch of three; the only one of a batch has none."""

    reads = ("text",)
    together = 3

    @property
    def task(self) -> "InThrees":
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
def test_a_batch_is_of_a_shards_rows_in_their_order_however_they_come(step: int) -> None:
    said = pa.Table.from_batches(written(step)).combine_chunks().to_pydict()
    assert said["status"] == ["ok", "no_input", "ok", "ok", "ok", "left_out", "ok", "ok", "alone", "no_input"]
    assert said["m1"] == pytest.approx([1 / 6, None, 2 / 6, 3 / 6, 4 / 15, None, 5 / 15, 6 / 15, None, None])


def test_whole_batches_are_scored_eight_at_once_or_fewer_of_large_examples() -> None:
    assert [Waiting(count=count).enough(3) for count in (23, 24)] == [False, True]
    assert [Waiting(count=count, held=DECODED).enough(3) for count in (2, 3)] == [False, True]
    assert not Waiting(count=23, held=DECODED - 1).enough(3)


def written(step: int) -> list[pa.RecordBatch]:
    waiting, tracer = Waiting(), cast(Tracer, InThrees())
    batches, number = [], 0
    for start in range(0, len(STATUSES), step):
        part = np.array(STATUSES[start : start + step], object)
        count = int((part == "ok").sum())
        waiting.add(part, np.arange(number + 1, number + count + 1, dtype=float), count)
        number += count
        batches.append(scored(trace_schema(0), tracer, waiting, 3))
    return [*batches, scored(trace_schema(0), tracer, waiting)]
