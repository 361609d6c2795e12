"""The task `linear_head`: which rows are examples and why others are not, for texts and for columns of features."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told, assert_told_each
from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.features import Sparse
from winnow.scoring.protocol import Task, TrainingSettings
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.linear_head import TASK, LinearHead, LinearHeadConfig

TEXTS = LinearHeadConfig(label="source.name", labels=("books", "crawl"), buckets=1024)
COLUMNS = LinearHeadConfig(label="good", labels=(False, True), features="columns", column="embed.vector", width=2)


def rows(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name.replace("__", "."): column for name, column in columns.items()})


BATCH = rows(
    text=pa.array(["a whale", "buy now", None, " \n", "call me", "spam", "sea"]),
    source__name=pa.array(["books", "crawl", "books", "crawl", None, "mail", "books"]),
)


def task(config: LinearHeadConfig) -> Task:
    found: Task = LinearHead(config)
    return found


def test_the_task_is_found_by_its_name() -> None:
    assert find_task("linear_head") is TASK
    assert task(TEXTS).reads == ("text", "source.name")
    assert task(COLUMNS).reads == ("embed.vector", "good")


def test_rows_without_label_or_text_say_so() -> None:
    found = task(TEXTS).encode(BATCH)
    assert found.status.tolist() == ["ok", "ok", "no_input", "no_input", "no_label", "unknown_label", "ok"]
    assert found.count == 3
    assert found.examples.labels.tolist() == [0, 1, 0]
    assert len(found.examples.features) == 3


@pytest.mark.parametrize(
    ("values", "labels", "numbers"),
    [
        (pa.array([True, False, None]), (False, True), [1, 0]),
        (pa.array([7, -1, None], pa.int16()), (-1, 7), [1, 0]),
        (pa.array(["b", "a", None], pa.large_string()), ("a", "b"), [1, 0]),
        (pa.array(["b", "a", None]).dictionary_encode(), ("a", "b"), [1, 0]),
    ],
)
def test_labels_are_strings_integers_or_booleans(values: pa.Array, labels: Any, numbers: list[int]) -> None:
    config = LinearHeadConfig(label="y", labels=labels, buckets=64)
    found = task(config).encode(rows(text=pa.array(["x", "y", "z"]), y=values))
    assert found.examples.labels.tolist() == numbers
    assert found.status.tolist() == ["ok", "ok", "no_label"]


def test_labels_and_lists_are_read_out_of_what_a_record_says() -> None:
    said = [
        '{"at":[1,2],"topic":"sea"}', '{"at":[1],"topic":"land"}', '{"at":["1",2],"topic":"sea"}', '{"topic":"sea"}',
        '{"at":[1,2],"topic":"sky"}', '{"at":[1,2],"topic":null}', '{"at":[1,2],"topic":["sea"]}', "[]", "{", None,
    ]  # fmt: skip
    config = LinearHeadConfig(
        label="meta",
        label_key="topic",
        labels=("land", "sea"),
        features="columns",
        column="meta",
        column_key="at",
        width=2,
    )
    found = task(config).encode(rows(meta=pa.array(said)))
    assert found.status.tolist() == [
        "ok", "unreadable", "unreadable", "no_input", "unknown_label",
        "no_label", "no_label", "no_label", "no_label", "no_label",
    ]  # fmt: skip
    assert found.examples.labels.tolist() == [1]
    assert found.examples.features.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("key", "labels", "numbers"),
    [("n", (3, 4), [1, 0, 0]), ("b", (False, True), [1, 0, 0]), ("s", ("4", "3"), [0, 1, 1])],
)
def test_values_of_a_record_are_labels_as_the_recipe_writes_them(key: str, labels: Any, numbers: list[int]) -> None:
    said = ['{"n":4,"b":true,"s":"4"}', '{"n":3,"b":false,"s":"3"}', '{"n":3,"b":false,"s":"3"}']
    config = replace(TEXTS, label="meta", label_key=key, labels=labels)
    found = task(config).encode(rows(text=pa.array(["a", "b", "c"]), meta=pa.array(said)))
    assert found.examples.labels.tolist() == numbers


def test_a_folder_is_the_label_of_its_files() -> None:
    config = replace(TEXTS, label="path", label_folder=True, labels=("cats", "dogs"))
    paths = pa.array(["a/dogs/1.txt", "cats/2.txt", "birds/3.txt", "4.txt", None])
    found = task(config).encode(rows(text=pa.array(list("abcde")), path=paths))
    assert found.status.tolist() == ["ok", "ok", "unknown_label", "no_label", "no_label"]
    assert found.examples.labels.tolist() == [1, 0]


def test_what_is_read_out_of_a_column_must_be_strings() -> None:
    numbers = rows(text=pa.array(["x"]), source__name=pa.array([1]))
    with assert_refused(ScoreError, "source.name", "int64"):
        task(replace(TEXTS, label_key="topic")).encode(numbers)
    numbers = rows(embed__vector=pa.array([1]), good=pa.array([True]))
    with assert_refused(ScoreError, "embed.vector", "int64"):
        task(replace(COLUMNS, column_key="at")).encode(numbers)


def test_a_label_of_another_type_is_refused() -> None:
    with assert_refused(ScoreError, "integers or booleans"):
        task(replace(TEXTS, label="y")).encode(rows(text=pa.array(["x"]), y=pa.array([0.5])))


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float16())])
def test_columns_are_lists_of_the_width(kind: pa.DataType) -> None:
    vectors = pa.array([[1, 2], None, [], [1], [3, None], [5, 6]], pa.list_(pa.float32())).cast(kind)
    good = pa.array([True, True, True, True, False, None])
    found = task(COLUMNS).encode(rows(embed__vector=vectors, good=good))
    assert found.status.tolist() == ["ok", "no_input", "no_input", "unreadable", "not_finite", "no_label"]
    np.testing.assert_array_equal(found.examples.features, np.array([[1, 2]], np.float32))


def test_columns_of_a_fixed_size_keep_rows_in_place() -> None:
    vectors = pa.array([None, [1, 2], [3, 4]], pa.list_(pa.float32(), 2))
    found = task(COLUMNS).encode(rows(embed__vector=vectors, good=pa.array([True, True, False])))
    assert found.status.tolist() == ["no_input", "ok", "ok"]
    np.testing.assert_array_equal(found.examples.features, [[1, 2], [3, 4]])
    wide = pa.array([[1, 2, 3]], pa.list_(pa.float32(), 3))
    with assert_refused(ScoreError, "3", "says 2"):
        task(COLUMNS).encode(rows(embed__vector=wide, good=pa.array([True])))


def test_a_column_without_lists_is_refused() -> None:
    with assert_refused(ScoreError, "embed.vector", "int64"):
        task(COLUMNS).encode(rows(embed__vector=pa.array([1]), good=pa.array([True])))


def test_a_feature_that_is_no_number_gives_no_example_and_spoils_no_training() -> None:
    vectors = pa.array([[1, None], [3, 4], [float("nan"), 1], [1e300, 1]], pa.list_(pa.float64()))
    found = task(COLUMNS).encode(rows(embed__vector=vectors, good=pa.array([True] * 4)))
    assert found.status.tolist() == ["not_finite", "ok", "not_finite", "not_finite"]
    assert found.count == 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LinearHeadConfig(), "label: expected a dotted column"),
        (LinearHeadConfig(), "labels are missing"),
        (replace(TEXTS, labels=("a", "a", "b")), "one occurs twice"),
        (replace(TEXTS, labels=(True, "true", "b")), "one occurs twice"),
        (replace(TEXTS, label_key="a", label_folder=True), "read a label"),
        (replace(COLUMNS, column=""), "column: … dotted column"),
        (replace(COLUMNS, width=0), "width 0 … expected how"),
        (replace(TEXTS, buckets=0), "buckets 0"),
        (replace(TEXTS, words=0, characters=(3, 2)), "no features are selected"),
        (replace(TEXTS, characters=(0, 2)), "characters 0, 2"),
        (replace(TEXTS, max_bytes=0), "max_bytes 0"),
        (
            replace(TEXTS, labels=tuple(range(100)), buckets=1 << 22),
            "100 labels … 4,194,304 features … most 268,435,456",
        ),
    ],
)
def test_a_configuration_that_cannot_be_says_what_is_expected(config: LinearHeadConfig, said: str) -> None:
    with pytest.raises(ScoreError, match="task linear_head") as error:
        task(config)
    assert_told(str(error.value), said)


def test_weights_of_another_head_are_refused_parameter_by_parameter() -> None:
    with pytest.raises(ScoreError) as error:
        task(TEXTS).check({"weight": np.zeros((3, 1024)), "bais": np.zeros(2)}, "ref.safetensors")
    assert_told_each(
        str(error.value).splitlines(),
        "ref.safetensors: bias: missing; expected 2",
        "ref.safetensors: weight: has shape 3 × 1024; expected 2 × 1024",
        ("ref.safetensors", "'bias'"),
    )
    with assert_refused(ScoreError, "bias:", "int64"):
        task(TEXTS).check({"weight": np.zeros((2, 1024)), "bias": np.zeros(2, np.int64)}, "x")


def test_examples_of_several_batches_train_and_score_as_one() -> None:
    ready = task(TEXTS)
    parts = [ready.encode(BATCH.slice(0, 3)), ready.encode(BATCH.slice(3))]
    whole, joined = ready.encode(BATCH).examples, ready.joined([part.examples for part in parts])
    assert isinstance(joined.features, Sparse)
    assert joined.features.indices.tobytes() == whole.features.indices.tobytes()
    settings = TrainingSettings(learning_rate=0.1, epochs=20)
    (reference,) = ready.train(joined, 3, settings, None, None)
    assert (ready.losses(reference.weights, whole) < 0.3).all()
    scores = ready.scorer(ready.initial(0), reference.weights, ("*",))(whole)
    assert (scores.score > 0).all()
    last = ready.chosen(joined, np.array([2, 0]))
    (mimic,) = ready.train(last, 2, replace(settings, method="mimic"), reference.weights, None)
    ready.check(mimic.weights, "mimic")
