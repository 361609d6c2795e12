"""The task `column`: a measure's own numbers as scores."""

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, NOT_FINITE, OK
from winnow.scoring.tasks.column import TASK, ColumnConfig, ColumnValues

NAME = "text.head.edu"


def test_a_rows_value_is_its_number() -> None:
    task = ColumnValues(NAME)
    found = task.encode(pa.RecordBatch.from_pydict({NAME: pa.array([1.5, None, float("nan"), -2.0])}))
    assert found.status.tolist() == [OK, NO_INPUT, NOT_FINITE, OK]
    assert (found.count, task.values(found.examples).tolist()) == (2, [1.5, -2])
    assert (task.reads, task.side) == ((NAME,), 0)


def test_whole_numbers_are_numbers_too() -> None:
    task = ColumnValues(NAME)
    found = task.encode(pa.RecordBatch.from_pydict({NAME: pa.array([3, None, 1], pa.int64())}))
    joined = task.joined([found.examples, found.examples])
    assert task.chosen(joined, np.array([1, 2])).tolist() == [1, 3]


def test_what_cannot_be_a_score_is_refused() -> None:
    with pytest.raises(ScoreError, match="`column` is missing"):
        TASK.load(ColumnConfig(), NoFiles())
    with pytest.raises(ScoreError, match="expected a column of numbers"):
        ColumnValues(NAME).encode(pa.RecordBatch.from_pydict({NAME: pa.array(["a"])}))
