"""Images with labels: what is read, what is refused, and what is said of each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, noise, plain, squares
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, NO_LABEL, OK, UNKNOWN_LABEL, Task, Weights
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.image_classifier import TASK, ImageClassifier, ImageClassifierConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.runtime import TorchRuntime

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = ImageClassifierConfig(label="label", labels=("cat", "dog"), size=16, patch=4, network=Size(8, 1, 2))
ARCHITECTURES = ("convolutions", "patches", f"{SAMPLES}:user_classifier")


def loaded(config: ImageClassifierConfig = CONFIG) -> ImageClassifier:
    found = TASK.load(config, NoFiles())
    assert isinstance(found, ImageClassifier)
    return found


def rows(images: Sequence[bytes | None], labels: Sequence[Any]) -> pa.RecordBatch:
    return pa.record_batch({"image": squares(images), "label": labels})


def six(task: Task) -> Any:
    found = task.encode(rows([noise(seed) for seed in range(6)], ["cat", "dog"] * 3))
    assert list(found.status) == [OK] * 6
    return found.examples


def moved(weights: Weights, by: float) -> Weights:
    generator = np.random.default_rng(1)
    return {
        name: (value + by * generator.standard_normal(value.shape)).astype(value.dtype)
        for name, value in weights.items()
    }


def by_differences(task: Task, at: Weights, reference: Weights, names: list[str], examples: Any) -> Any:
    """The slope of each loss towards the reference, from two losses on either side."""
    norm = np.sqrt(sum(((reference[name] - at[name]) ** 2).sum() for name in names))
    sides = [
        task.losses(
            {n: v + sign * 1e-6 / norm * (reference[n] - v) if n in names else v for n, v in at.items()}, examples
        )
        for sign in (1, -1)
    ]
    return -(sides[0] - sides[1]) / 2e-6


def test_it_is_found_by_its_name() -> None:
    assert find_task("image_classifier") is TASK


def test_each_row_says_why_it_has_no_example() -> None:
    images = [plain((9, 9, 9)), None, b"", b"no image", plain((1, 2, 3)), plain((1, 2, 3)), None]
    found = loaded().encode(rows(images, ["dog", "cat", "cat", "cat", None, "cow", None]))
    assert list(found.status) == [OK, NO_INPUT, NO_INPUT, NO_INPUT, NO_LABEL, UNKNOWN_LABEL, NO_INPUT]
    assert found.count == 1
    assert found.examples.labels.tolist() == [1]
    assert (found.examples.pixels == 9).all()


def test_labels_may_be_whole_numbers() -> None:
    task = loaded(replace(CONFIG, labels=(0, 1), label="class"))
    assert task.reads == ("image", "class")
    found = task.encode(pa.record_batch({"image": squares([noise(0), noise(1)]), "class": [1, 2]}))
    assert list(found.status) == [OK, UNKNOWN_LABEL]
    assert found.examples.labels.tolist() == [1]


def test_a_label_may_be_the_folder_of_a_path() -> None:
    task = loaded(replace(CONFIG, label="path", label_folder=True))
    paths = ["a/cat/1.png", "dog/2.png", "b/cow/3.png", "4.png", None]
    found = task.encode(pa.record_batch({"image": squares([noise(seed) for seed in range(5)]), "path": paths}))
    assert list(found.status) == [OK, OK, UNKNOWN_LABEL, NO_LABEL, NO_LABEL]
    assert found.examples.labels.tolist() == [0, 1]


def test_a_label_may_be_the_value_of_a_key_of_an_object() -> None:
    objects = ['{"is":3}', '{"is":"3"}', '{"is":true}', '{"is":3.5}', '{"is":null}', "{}", "[3]", "{", None]
    task = loaded(replace(CONFIG, label="metadata", label_key="is", labels=(True, 3)))
    found = task.encode(pa.record_batch({"image": squares([noise(seed) for seed in range(9)]), "metadata": objects}))
    assert list(found.status) == [OK, OK, OK, UNKNOWN_LABEL] + [NO_LABEL] * 5
    assert found.examples.labels.tolist() == [1, 1, 0]
    inner = ['{"json":{"is":3}}', '{"json.is":true,"json":{"is":3}}', '{"json":3}', '{"json":{}}', '{"json":null}']
    task = loaded(replace(CONFIG, label="metadata", label_key="json.is", labels=(True, 3)))
    found = task.encode(pa.record_batch({"image": squares([noise(seed) for seed in range(5)]), "metadata": inner}))
    assert list(found.status) == [OK, OK] + [NO_LABEL] * 3
    assert found.examples.labels.tolist() == [1, 0]
    with pytest.raises(ScoreError, match="`label_folder` and `label_key` are two ways to read a label; write one"):
        loaded(replace(CONFIG, label_folder=True, label_key="is"))


def test_the_size_of_its_pictures_is_said_beforehand() -> None:
    assert loaded().side == 16
    assert six(loaded()).pixels[0].shape == (16, 16, 3)


def test_pictures_of_another_size_are_refused() -> None:
    given = pa.record_batch({"image": squares([noise(0)], 8), "label": ["cat"]})
    with pytest.raises(ScoreError, match=r"^pictures are of type fixed_size_binary\[192\]; expected fixed_size_bin"):
        loaded().encode(given)


def test_a_label_of_another_type_is_one_line() -> None:
    with pytest.raises(ScoreError, match="label label is of type double; expected strings, integers or booleans"):
        loaded().encode(rows([noise(0)], [0.5]))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_is_the_cross_entropy_of_the_label(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture))
    weights = task.initial(3)
    one = task.encode(rows([noise(0), noise(0)], ["cat", "dog"]))
    losses = task.losses(weights, one.examples)
    assert np.exp(-losses).sum() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("globs", [("*",), ("*weight",)])
def test_the_score_is_the_slope_towards_the_reference(architecture: str, globs: tuple[str, ...]) -> None:
    task = loaded(replace(CONFIG, architecture=architecture, running=TorchRuntime(compute="float64")))
    at = task.initial(0)
    reference = moved(at, 0.1)
    names = [name for name in task.network.trained if globs == ("*",) or name.endswith("weight")]
    scored = task.scorer(at, reference, globs)(six(task))
    np.testing.assert_allclose(
        scored.score, by_differences(task, at, reference, names, six(task)), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(scored.loss, task.losses(at, six(task)), rtol=1e-12)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_row_is_worth_the_same_whatever_stands_beside_it(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture))
    at = task.initial(0)
    scorer = task.scorer(at, moved(at, 0.1), ("*",))
    together = scorer(six(task)).score
    alone = [scorer(task.chosen(six(task), np.array([place]))).score[0] for place in range(6)]
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)


def test_scoring_twice_gives_the_same_bits() -> None:
    task = loaded()
    at = task.initial(0)
    first, again = (task.scorer(at, moved(at, 0.1), ("*",))(six(task)) for _ in range(2))
    assert first.score.tobytes() == again.score.tobytes()


def test_less_precision_is_near() -> None:
    at = loaded().initial(0)
    exact, rough = (
        task.scorer(at, moved(at, 0.1), ("*",))(six(task)).score
        for task in (loaded(), loaded(replace(CONFIG, running=TorchRuntime(compute="bfloat16"))))
    )
    assert not np.array_equal(exact, rough)
    np.testing.assert_allclose(exact, rough, atol=0.05 * np.abs(exact).max())


def test_the_cosine_is_within_one() -> None:
    task = loaded()
    at = task.initial(0)
    plain_score, cosine = (
        task.scorer(at, moved(at, 0.1), ("head.*",), cosine=asked)(six(task)).score for asked in (False, True)
    )
    assert (np.sign(plain_score) == np.sign(cosine)).all()
    assert (np.abs(cosine) <= 1).all()


def test_a_module_without_a_forward_derivative_is_scored_by_differences() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:without_forward_mode"))
    at = task.initial(0)
    reference = moved(at, 0.1)
    exact = loaded(
        replace(CONFIG, architecture=f"{SAMPLES}:without_forward_mode", running=TorchRuntime(compute="float64"))
    )
    wide = [{name: value.astype(np.float64) for name, value in one.items()} for one in (at, reference)]
    expected = by_differences(exact, wide[0], wide[1], list(at), six(task))
    np.testing.assert_allclose(task.scorer(at, reference, ("*",))(six(task)).score, expected, rtol=1e-4)


def test_where_memory_ends_fewer_are_scored_at_once() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:hungry"))
    at = task.initial(0)
    scorer = task.scorer(at, moved(at, 0.1), ("*",))
    alone = [scorer(task.chosen(six(task), np.array([place]))).score[0] for place in range(6)]
    np.testing.assert_allclose(scorer(six(task)).score, alone, rtol=1e-5)
    assert np.isfinite(task.losses(at, six(task))).all()


def test_where_it_does_not_suffice_for_one_that_is_said() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:starving"))
    at = task.initial(0)
    with pytest.raises(ScoreError, match="one sample"):
        task.scorer(at, moved(at, 0.1), ("*",))(six(task))


def test_a_loss_that_is_no_number_leaves_the_others_alone() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:overflowing"))
    at = {"head.weight": np.full((2, 768), 1e38, np.float32)}
    dark, bright = plain((0, 0, 0)), plain((255, 255, 255))
    found = task.encode(rows([dark, bright, dark], ["cat", "cat", "dog"]))
    losses = task.losses(at, found.examples)
    scored = task.scorer(at, {"head.weight": at["head.weight"] / 2}, ("*",))(found.examples)
    for column in (losses, scored.loss, scored.score):
        assert np.isnan(column).tolist() == [False, True, False]


def test_examples_of_several_calls_are_one() -> None:
    task = loaded()
    parts = [task.encode(rows([noise(seed)], ["cat"])).examples for seed in range(3)]
    whole = task.joined(parts)
    weights = task.initial(0)
    each = [task.losses(weights, part)[0] for part in parts]
    np.testing.assert_allclose(task.losses(weights, whole), each, rtol=1e-6)
    np.testing.assert_allclose(
        task.losses(weights, task.chosen(whole, np.array([2, 0]))), [each[2], each[0]], rtol=1e-6
    )


def test_nothing_to_score_gives_nothing() -> None:
    task = loaded()
    at = task.initial(0)
    nothing = task.encode(rows([], []))
    assert task.scorer(at, moved(at, 0.1), ("*",))(nothing.examples).score.tolist() == []


def test_the_reference_itself_gives_no_direction() -> None:
    task = loaded()
    with pytest.raises(ScoreError, match="no direction"):
        task.scorer(task.initial(0), task.initial(0), ("*",))


def test_a_glob_that_matches_nothing_names_a_near_one() -> None:
    task = loaded()
    with pytest.raises(ScoreError, match="matches no parameter"):
        task.scorer(task.initial(0), task.initial(1), ("heed.*",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ()}, "labels are missing: expected at least two different ones"),
        ({"labels": ("cat", "cat")}, "labels cat, cat: expected at least two different ones"),
        ({"label": ""}, "expected a dotted column"),
        ({"architecture": "patches", "patch": 5}, "16 is no multiple of patch 5"),
        ({"architecture": "paches"}, "expected `module:function`"),
        ({"architecture": "nowhere:at_all"}, "No module named 'nowhere'"),
        ({"architecture": f"{SAMPLES}:no_module"}, "made a int"),
        ({"architecture": f"{SAMPLES}:user_classifier", "labels": ("a", "b", "c")}, r"\(1, 2\); expected \(1, 3\)"),
        ({"architecture": f"{SAMPLES}:user_classifier", "size": 32}, "of one image of 32 pixels a side it fails"),
    ],
)
def test_what_cannot_be_built_is_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError, match=message) as found:
        loaded(replace(CONFIG, **change))
    assert "\n" not in str(found.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ScoreError, match="`device: cuda`, and PyTorch finds none here"):
        loaded(replace(CONFIG, running=TorchRuntime(device="cuda")))


def test_what_values_depend_on_names_packages_and_the_users_file() -> None:
    ours, theirs = (TASK.depends(replace(CONFIG, architecture=ARCHITECTURES[at])) for at in (0, 2))
    assert [one.partition(" ")[0] for one in ours] == ["torch"]
    assert [one.partition(" ")[0] for one in theirs] == ["torch", "tests"]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()], ids=str)
def test_labels_may_be_strings_of_any_kind(kind: pa.DataType) -> None:
    labels = pa.array(["dog", None, "cow", "cat"]).cast(kind)
    found = loaded().encode(pa.record_batch({"image": squares([noise(0)] * 4), "label": labels}))
    assert list(found.status) == [OK, NO_LABEL, UNKNOWN_LABEL, OK]
    assert found.examples.labels.tolist() == [1, 0]


def test_a_score_by_differences_that_leave_too_much_open_is_none_and_the_fallback_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:uncertain"))
    at = task.initial(0)
    given = task.encode(rows([plain((0, 0, 0)), noise(1), plain((40, 9, 9))], ["cat", "dog", "dog"])).examples
    for _ in range(2):
        found = task.scorer(at, moved(at, 0.1), ("*",))(given)
        assert np.isnan(found.score).tolist() == [False, True, False]
        assert np.isfinite(found.loss).all()
    (said,) = [one for one in caplog.records if one.name == "winnow"]
    assert said.levelname == "WARNING"
    assert f"{SAMPLES}:uncertain has no forward derivative" in said.getMessage()
