"""Filters over traces, fitted for each value of a column separately."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.runners.scores.stores import TRAINED, make_store, scored, write
from winnow.pipelines.score import filtering
from winnow.pipelines.score.filtering import Traces, apply_filter
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe import FilterConfig


def traces(groups: list[str | None]) -> Traces:
    rows = len(groups)
    return Traces(
        shards=(),
        ends=(),
        status=np.full(rows, "ok", object),
        scores=np.arange(rows, dtype=np.float64)[:, np.newaxis],
        ids=(np.arange(rows, dtype=np.uint64), np.zeros(rows, np.uint64)),
        groups=pa.array(groups, pa.string()).dictionary_encode(),
    )


def test_the_best_rows_of_each_value_are_kept_and_null_is_a_group() -> None:
    result = apply_filter(traces(["a", "a", None, "a", "a", None]), FilterConfig(binarise="top", top=0.5, by="x"), 0)
    assert result.keep.tolist() == [0, 0, 0, 1, 1, 1]
    assert [one.name for one in result.fitted] == ["(null)", "a"]


def test_a_value_equal_to_the_null_label_loses_no_row() -> None:
    result = apply_filter(traces(["(null)", "(null)", None, None]), FilterConfig(binarise="top", top=0.5, by="x"), 0)
    assert result.keep.tolist() == [0, 0, 1, 1]


def test_a_column_with_too_many_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_store(tmp_path)
    monkeypatch.setattr(filtering, "MAX_VALUES", 1)
    with pytest.raises(ScoreError, match=r"score\.mimic: filter\.by: samples\.source\.name has 2 values"):
        scored(write(tmp_path, TRAINED + "    filter: {by: samples.source.name}\n"))
