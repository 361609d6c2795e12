"""The task `next_byte`: any text is an example, and what is written like the reference's texts scores high."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import Task, TrainingSettings
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.next_byte import TASK, NextByte, NextByteConfig

CONFIG = NextByteConfig(buckets=1024, orders=3)
SETTINGS = TrainingSettings(learning_rate=0.1, epochs=3)

CLEAN = [
    "All human beings are born free and equal in dignity and rights.",
    "They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    "Everyone has the right to life, liberty and the security of person.",
    "No one shall be held in slavery or servitude; slavery and the slave trade shall be prohibited.",
    "Everyone has the right to recognition everywhere as a person before the law.",
    "All are equal before the law and are entitled without any discrimination to equal protection of the law.",
]


def batch(texts: list[str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.large_string())})


def task(config: NextByteConfig = CONFIG) -> Task:
    found: Task = NextByte(config)
    return found


def test_the_task_is_found_by_its_name_and_its_weights_are_16_mib_by_default() -> None:
    assert find_task("next_byte") is TASK
    weights = task(NextByteConfig()).initial(0)
    assert weights["weight"].nbytes == 16 << 20


def test_every_text_is_an_example_but_empty_ones() -> None:
    found = task().encode(batch(["a", None, "", "  ", "\0"]))
    assert found.status.tolist() == ["ok", "no_input", "no_input", "ok", "ok"]
    assert found.count == len(found.examples) == 3


def test_untrained_weights_take_every_byte_for_equally_likely() -> None:
    ready = task()
    losses = ready.losses(ready.initial(0), ready.encode(batch(["abc", "ж"])).examples)
    np.testing.assert_allclose(losses, np.log(256), rtol=1e-6)


def test_what_is_written_like_the_reference_scores_above_what_is_garbled() -> None:
    ready = task()
    known = ready.encode(batch([*CLEAN[:4]])).examples
    (reference,) = ready.train(known, 4, SETTINGS, None, None)
    garbled = ["".join(np.random.default_rng(at).permutation(list(text))) for at, text in enumerate(CLEAN)]
    found = ready.encode(batch([*CLEAN[4:], *garbled[4:], "BUY N0W!!! >>> $$$ <<<"])).examples
    scores = ready.scorer(ready.initial(0), reference.weights, ("*",))(found).score
    assert scores[:2].min() > scores[2:].max()


def test_training_by_mimic_gives_weights_of_the_model() -> None:
    ready = task()
    parts = [ready.encode(batch([text])).examples for text in CLEAN]
    examples = ready.joined(parts)
    (reference,) = ready.train(ready.chosen(examples, np.array([0, 1])), 2, SETTINGS, None, None)
    kept = list(ready.train(examples, 6, replace(SETTINGS, method="mimic", keep=3), reference.weights, None))
    assert [one.step for one in kept] == [1, 2, 3]
    for one in kept:
        ready.check(one.weights, "checkpoint")
    assert ready.losses(kept[-1].weights, examples).mean() < np.log(256)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (replace(CONFIG, buckets=3), "buckets 3: expected 64 to 1,048,576"),
        (replace(CONFIG, orders=0), "orders 0: expected 1 to 16"),
        (replace(CONFIG, max_positions=0), "max_positions 0: expected 1 to 16,384"),
    ],
)
def test_a_configuration_that_cannot_be_says_what_is_expected(config: NextByteConfig, said: str) -> None:
    with pytest.raises(ScoreError, match=f"task next_byte: {said}"):
        task(config)


def test_no_direction_is_refused() -> None:
    ready = task()
    with pytest.raises(ScoreError, match="there is no direction"):
        ready.scorer(ready.initial(0), ready.initial(1), ("*",))
