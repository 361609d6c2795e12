"""The unit direction, and what is refused: each problem by the parameter's name."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.direction import chosen_parameters, direction

NAMES = ("head.weight", "head.bias", "blocks.0.mlp", "blocks.1.mlp")


def arrays(**values: Any) -> dict[str, Any]:
    return {name: np.asarray(one, np.float32) for name, one in values.items()}


def test_the_direction_is_the_difference_over_its_norm() -> None:
    found = direction(arrays(a=[1, 1], b=[0]), arrays(a=[4, 1], b=[4]), ["a", "b"])
    assert found.norm == 5
    assert found.unit["a"].tolist() == [np.float32(0.6), 0]
    assert found.unit["b"].tolist() == [np.float32(0.8)]
    assert {one.dtype for one in found.unit.values()} == {np.dtype(np.float32)}


def test_only_chosen_parameters_count() -> None:
    found = direction(arrays(a=[1, 1], b=[0]), arrays(a=[4, 1], b=[4]), ["a"])
    assert (found.norm, list(found.unit)) == (3, ["a"])


@pytest.mark.parametrize("size", [1e-40, 1e-25, 1.0, 1e25])
def test_differences_of_any_size_have_a_direction(size: float) -> None:
    found = direction(arrays(a=[0, 0]), arrays(a=[3 * size, 4 * size]), ["a"])
    assert found.unit["a"] == pytest.approx([0.6, 0.8], rel=1e-4)  # the smallest have few digits


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_the_norm_of_the_direction_is_1(steps: list[float]) -> None:
    at = {"a": np.zeros(len(steps), np.float32)}
    reference = arrays(a=steps)
    if any(steps):
        assert np.linalg.norm(direction(at, reference, ["a"]).unit["a"].astype(float)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("globs", "chosen"),
    [
        (["*"], NAMES),
        (["head.*"], NAMES[:2]),
        (["blocks.*.mlp", "head.bias"], NAMES[1:]),
        (["head.weight", "head.*"], NAMES[:2]),
    ],
)
def test_globs_choose_names_in_the_models_order(globs: list[str], chosen: tuple[str, ...]) -> None:
    assert chosen_parameters(NAMES, globs) == chosen


def test_a_glob_that_matches_nothing_names_the_nearest() -> None:
    with assert_refused(ScoreError, "'head.wieght'", "'head.weight'"):
        chosen_parameters(NAMES, ["head.bias", "head.wieght"])
    with pytest.raises(ScoreError, match="no glob"):
        chosen_parameters(NAMES, [])


def test_equal_weights_have_no_direction() -> None:
    with assert_refused(ScoreError, "reference equals", "'a'"):
        direction(arrays(a=[1, 2], b=[1]), arrays(a=[1, 2], b=[2]), ["a"])


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"head.weights": [1.0, 2]}, "'head.weight' … 'head.weights'"),
        ({"head.weight": [1.0, 2, 3]}, "'head.weight' has shape [3], expected [2]"),
        ({"head.weight": [1.0, np.nan]}, "'head.weight' … reference holds"),
        ({"head.weight": np.ones(2, np.float16)}, "'head.weight' is float16, expected float32"),
    ],
)
def test_a_reference_of_another_model_is_refused_by_parameter(reference: dict[str, Any], said: str) -> None:
    at = {"head.weight": np.zeros(2, np.float32)}
    given: dict[str, Any] = {
        name: one if isinstance(one, np.ndarray) else np.array(one, np.float32) for name, one in reference.items()
    }
    with assert_refused(ScoreError, said):
        direction(at, given, ["head.weight"])


def test_whole_numbers_are_no_weights() -> None:
    with pytest.raises(ScoreError, match="'a' is int64, expected floating-point numbers"):
        direction({"a": np.arange(2)}, {"a": np.ones(2, np.int64)}, ["a"])


def test_all_problems_are_told_at_once_up_to_a_few() -> None:
    at = {f"layer{i}": np.zeros(1, np.float32) for i in range(9)}
    with pytest.raises(ScoreError, match=r"'layer0'.*'layer4'.*; … and 4 more$"):
        direction(at, {}, list(at))


def test_weights_that_no_number_parts_have_no_direction() -> None:
    for far in (1.7e308, 8.9e307):  # a difference, and a norm, that no number says
        with assert_refused(ScoreError, "weights overflows", "'a'"):
            direction({"a": np.full(4, -far)}, {"a": np.full(4, far)}, ["a"])


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (
            ["visual.transformer.resblocks.9.mlp.c_fc.weight", "visual.transformer.resblocks.11.mlp.c_fc.weight"],
            "visual.transformer.resblocks.11.mlp.c_fc.weight",
        ),
        (
            ["visual.trunk.blocks.2.mlp.fc1.bias", "visual.trunk.blocks.1.mlp.fc1.bias"],
            "visual.trunk.blocks.2.mlp.fc1.bias",
        ),
        (["vision_model.encoder.layers.10.mlp.fc1.weight"], "vision_model.encoder.layers.10.mlp.fc1.weight"),
        (["image.0.mlp.read", "image.1.mlp.read", "image.1.attention.read"], "image.1.mlp.read"),
    ],
)
def test_the_papers_layer_has_a_name_in_each_familys_names(names: list[str], chosen: str) -> None:
    text = ["text.9.mlp.read", "transformer.resblocks.99.mlp.c_fc.weight", "logit_scale"]
    assert chosen_parameters([*names, *text], ["last_image_mlp"]) == (chosen,)
    assert chosen_parameters([*names, *text], ["last_text_mlp"]) == (text[1],)
    assert chosen_parameters([*names, *text], ["last_image_mlp", "logit_scale"]) == (chosen, "logit_scale")


def test_a_network_without_such_a_layer_says_what_to_write() -> None:
    with assert_refused(ScoreError, "last_image_mlp finds no parameter", "glob"):
        chosen_parameters(NAMES, ["last_image_mlp"])
