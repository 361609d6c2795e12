"""References merged from several checkpoints, and what keeps checkpoints from being merged."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from winnow.schemas.errors import ScoreError
from winnow.scoring.merging import average, task_arithmetic
from winnow.scoring.protocol import Weights


def one(*values: float, kind: str = "float32") -> Weights:
    return {"head.weight": np.array([values], kind), "head.bias": np.array(sum(values), kind)}


def test_an_average_is_the_mean_of_each_parameter() -> None:
    found = average({"a": one(1, 2), "b": one(3, 6), "c": one(5, 1)})
    assert found["head.weight"].tolist() == [[3, 3]]
    assert found["head.bias"].tolist() == 6
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
    assert {name: value.shape for name, value in found.items()} == {"head.weight": (1, 2), "head.bias": ()}


def test_an_average_of_one_is_that_one() -> None:
    assert average({"a": one(1, 2)})["head.weight"].tolist() == [[1, 2]]


def test_task_arithmetic_adds_what_each_has_learnt() -> None:
    found = task_arithmetic(one(1, 1), {"a": one(3, 1), "b": one(1, 5)}, 0.5)
    assert found["head.weight"].tolist() == [[2, 3]]


def test_a_scale_of_one_gives_a_single_checkpoint_itself() -> None:
    assert task_arithmetic(one(0.5, 1), {"a": one(3, 7)}, 1.0)["head.weight"].tolist() == [[3, 7]]


def test_a_negative_scale_unlearns() -> None:
    assert task_arithmetic(one(1, 1), {"a": one(3, 1)}, -1.0)["head.weight"].tolist() == [[-1, 1]]


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=6))
def test_a_scale_of_one_over_their_number_is_the_average(values: list[float]) -> None:
    checkpoints = {str(place): one(value) for place, value in enumerate(values)}
    merged, mean = task_arithmetic(one(0.25), checkpoints, 1 / len(values)), average(checkpoints)
    np.testing.assert_allclose(merged["head.weight"], mean["head.weight"], rtol=1e-6, atol=1e-6)


def test_sums_are_taken_in_64_bits() -> None:
    checkpoints = {"a": one(1e8), "b": one(1), "c": one(-1e8), "d": one(3)}
    assert average(checkpoints)["head.weight"].tolist() == [[1]]


def test_what_is_merged_is_left_as_it_was() -> None:
    base, other = one(1, 1), one(2, 2)
    task_arithmetic(base, {"a": other}, 1.0)["head.weight"][0] = 9
    assert base["head.weight"].tolist() == [[1, 1]]
    assert other["head.weight"].tolist() == [[2, 2]]


def test_counts_are_the_first_ones() -> None:
    found = average({"a": {**one(1), "seen": np.array(3)}, "b": {**one(2), "seen": np.array(8)}})
    assert found["seen"].tolist() == 3


def test_every_kind_of_mismatch_is_named_at_once() -> None:
    other: dict[str, Any] = {"head.weight": np.zeros((1, 3), np.float32), "tail": np.zeros(1, np.float32)}
    with pytest.raises(ScoreError) as found:
        average({"a.safetensors": {**one(1, 2), "x": np.zeros(1)}, "b.safetensors": {**other, "x": np.zeros(1, "f4")}})
    assert_told(
        str(found.value),
        "merging:",
        "b.safetensors",
        "a.safetensors",
        "head.bias",
        "head.weight",
        "shape (1",
        whole=True,
    )


def test_at_most_six_are_named_and_the_rest_counted() -> None:
    many = {f"{number}": np.zeros(1) for number in range(9)}
    with assert_refused(ScoreError, "missing 0", "1", "2", "3"):
        average({"a": many, "b": one(1)})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(ScoreError, match=r"merging: b: not finite: head.weight, head.bias"):
        average({"a": one(1, 2), "b": one(bad, 2)})
    with pytest.raises(ScoreError, match="merging: the base: not finite"):
        task_arithmetic(one(bad, 1), {"a": one(1, 1)}, 1.0)
    with pytest.raises(ScoreError, match="expected a finite number"):
        task_arithmetic(one(1), {"a": one(1)}, bad)


def test_a_result_that_is_no_number_is_refused() -> None:
    with assert_refused(ScoreError, "head.weight", "head.bias"):
        task_arithmetic(one(1), {"a": one(3e38)}, 10.0)


def test_nothing_to_merge_is_one_line() -> None:
    with pytest.raises(ScoreError, match="no checkpoint is given"):
        average({})
    with pytest.raises(ScoreError, match="no checkpoint is given"):
        task_arithmetic(one(1), {}, 1.0)
    with pytest.raises(ScoreError, match="a has no parameters"):
        average({"a": {}})
    with pytest.raises(ScoreError, match=r"head.weight is complex64"):
        average({"a": one(1, kind="complex64")})
