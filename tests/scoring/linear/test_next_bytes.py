"""A text's loss and score under the model of the next byte, against the same model written plainly in numpy."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.byte_kernels import find_rows
from winnow.scoring.linear.byte_training import train_bytes
from winnow.scoring.linear.next_bytes import ByteScorer, byte_losses, initial_bytes
from winnow.scoring.linear.schedule import epoch_order, in_batch
from winnow.scoring.linear.windows import Windows, chosen_windows, joined_windows, windows_of
from winnow.scoring.protocol import Checkpoint, Method, TrainingSettings, Weights

BUCKETS, ORDERS = 64, 3
DRAW = np.random.default_rng(3)
TEXTS = ["to be or not to be", "жук", "a", "that is the question " * 4, "0123456789", "aaaaaaaaaaaaaaaaaaaaaaaaaaa"]
WINDOWS = windows_of(pa.array(TEXTS), ORDERS, 40)
METHODS: tuple[Method, ...] = ("uniform", "mimic", "grand", "rho")


def weights(spread: float) -> Weights:
    return {
        "weight": DRAW.normal(0, spread, (BUCKETS, 256)).astype(np.float32),
        "bias": DRAW.normal(0, spread, 256).astype(np.float32),
    }


AT, REFERENCE = weights(1.0), weights(1.0)


def gradient(at: Weights, windows: Windows, text: int) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """The loss of a text and its whole gradient."""
    found = {name: np.zeros(at[name].shape) for name in at}
    loss, rows = 0.0, np.empty(ORDERS, np.int64)
    content = windows.content[windows.offsets[text] : windows.offsets[text + 1]]
    for window in content:
        find_rows(window, BUCKETS, rows)
        logits = at["bias"].astype(np.float64) + at["weight"][rows].astype(np.float64).sum(0)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        loss -= np.log(shares[window[0]])
        shares[window[0]] -= 1
        found["bias"] += shares / len(content)
        np.add.at(found["weight"], rows, shares / len(content))
    return loss / len(content), found


@pytest.mark.parametrize("parameters", [("*",), ("weight",), ("bias",)])
def test_scores_are_those_of_gradients_of_single_texts(parameters: tuple[str, ...]) -> None:
    chosen = [name for name in AT if parameters in (("*",), (name,))]
    away = {name: REFERENCE[name].astype(np.float64) - AT[name] for name in chosen}
    length = np.sqrt(sum(np.square(one).sum() for one in away.values()))
    losses, scores, norms = [], [], []
    for text in range(len(TEXTS)):
        loss, slopes = gradient(AT, WINDOWS, text)
        losses.append(loss)
        scores.append(-sum((slopes[name] * away[name]).sum() for name in chosen) / length)
        norms.append(np.sqrt(sum(np.square(slopes[name]).sum() for name in chosen)))
    plain = ByteScorer(AT, REFERENCE, parameters)(WINDOWS)
    cosine = ByteScorer(AT, REFERENCE, parameters, cosine=True)(WINDOWS)
    np.testing.assert_allclose(plain.loss, losses, rtol=1e-6)
    np.testing.assert_allclose(byte_losses(AT, WINDOWS), losses, rtol=1e-6)
    np.testing.assert_allclose(plain.score, scores, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(cosine.score, np.array(scores) / norms, rtol=1e-5, atol=1e-7)


def test_extreme_weights_keep_a_finite_loss() -> None:
    steep = {"weight": AT["weight"] * 1000, "bias": AT["bias"]}
    assert np.isfinite(byte_losses(steep, WINDOWS)).all()
    assert np.isfinite(ByteScorer(steep, REFERENCE)(WINDOWS).score).all()


@settings(max_examples=scaled(30), deadline=None)
@given(texts=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=5), before=st.text(max_size=5))
def test_a_texts_score_is_the_same_bits_whatever_the_batch(texts: list[str], before: str) -> None:
    scorer = ByteScorer(AT, REFERENCE, cosine=True)
    whole = scorer(windows_of(pa.array(texts, pa.string()), ORDERS, 20))
    for at, text in enumerate(texts):
        alone = scorer(windows_of(pa.array([before, text], pa.large_string()), ORDERS, 20))
        assert alone.score[1] == whole.score[at]
        assert alone.loss[1] == whole.loss[at]


def test_texts_are_looked_at_all_over_and_not_at_one_byte_of_each_character() -> None:
    found = windows_of(pa.array(["ж" * 10_000]), 1, 256)
    assert len(found.content) == 256
    firsts = (found.content[:, 0] == "ж".encode()[0]).sum()
    assert 64 < firsts < 192
    digits = windows_of(pa.array(["0" * 1000 + "1" * 1000 + "2" * 1000]), 1, 30).content[:, 0]
    assert bytes(digits) == b"0" * 10 + b"1" * 10 + b"2" * 10


def test_short_texts_are_looked_at_whole_with_nothing_before_them() -> None:
    found = windows_of(pa.array(["abc", None, "", "z"]), 2, 3)
    assert found.offsets.tolist() == [0, 3, 3, 3, 4]
    assert [bytes(one) for one in found.content] == [b"a\0\0", b"ba\0", b"cba", b"z\0\0"]
    again = chosen_windows(joined_windows([found, found]), np.array([7, 4, 5]))
    assert [bytes(one) for one in again.content] == [b"z\0\0", b"a\0\0", b"ba\0", b"cba"]


SETTINGS = TrainingSettings(epochs=2, batch=4, learning_rate=0.1, weight_decay=0.0, seed=1)


@pytest.mark.parametrize("parameters", [("*",), ("bias",)])
@pytest.mark.parametrize("method", METHODS)
def test_training_is_adagrad_on_weighed_gradients(method: Method, parameters: tuple[str, ...]) -> None:
    chosen = [name for name in AT if parameters in (("*",), (name,))]
    values: dict[str, NDArray[np.float64]] = {name: np.zeros(AT[name].shape) for name in AT}
    squares = {name: np.zeros(AT[name].shape) for name in AT}
    order = [epoch_order(1, epoch, len(TEXTS)) for epoch in range(2)]
    for which in [part for one in order for part in (one[:4], one[4:])]:
        of = [gradient(values, WINDOWS, text) for text in which]
        away = {name: REFERENCE[name] - values[name] for name in chosen}
        length = np.sqrt(sum(np.square(one).sum() for one in away.values()))
        by = {
            "uniform": [0.0 for _ in of],
            "mimic": [-sum((slopes[name] * away[name]).sum() for name in chosen) / length for _, slopes in of],
            "grand": [np.sqrt(sum(np.square(slopes[name]).sum() for name in chosen)) for _, slopes in of],
            "rho": [loss - gradient(REFERENCE, WINDOWS, text)[0] for (loss, _), text in zip(of, which, strict=True)],
        }[method]
        weighed = in_batch(method, np.array(by), 1.0)
        for name, value in values.items():
            shares = weighed if name in chosen else np.full(len(which), 1 / len(which))
            slope = sum(share * slopes[name] for share, (_, slopes) in zip(shares, of, strict=True))
            squares[name] += np.square(slope)
            value -= 0.1 * slope / (np.sqrt(squares[name]) + 1e-10)
    chose = replace(SETTINGS, method=method, parameters=parameters)
    (found,) = train_bytes(WINDOWS, BUCKETS, chose, REFERENCE)
    for name, value in values.items():
        # Where gradients cancel, a step is as long as others, whichever way rounding sends it.
        assert np.quantile(np.abs(found.weights[name] - value), 0.999) < 1e-4


@pytest.mark.torch
def test_adagrad_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    kept = list(train_bytes(WINDOWS, BUCKETS, replace(SETTINGS, keep=4)))
    before: Weights = initial_bytes(BUCKETS)
    values = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in before.items()}
    optimiser = torch.optim.Adagrad(values.values(), lr=0.1)
    order = [epoch_order(1, epoch, len(TEXTS)) for epoch in range(2)]
    for which, after in zip([part for one in order for part in (one[:4], one[4:])], kept, strict=True):
        of = [gradient(before, WINDOWS, text)[1] for text in which]
        for name, value in values.items():
            value.grad = torch.tensor(sum(one[name] for one in of) / len(of))
        optimiser.step()
        before = after.weights
        for name, value in values.items():
            assert np.quantile(np.abs(after.weights[name] - value.detach().numpy()), 0.999) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_training_ends_as_one_that_was_not(method: Method) -> None:
    chose = replace(SETTINGS, method=method, epochs=3, keep=6)
    whole = list(train_bytes(WINDOWS, BUCKETS, chose, REFERENCE))
    rest = list(train_bytes(WINDOWS, BUCKETS, chose, REFERENCE, whole[2]))
    assert [one.step for one in rest] == [4, 5, 6]
    for name, array in {**whole[-1].weights, **whole[-1].state}.items():
        assert array.tobytes() == {**rest[-1].weights, **rest[-1].state}[name].tobytes()
    assert list(train_bytes(WINDOWS, BUCKETS, chose, REFERENCE, whole[-1])) == [whole[-1]]


def test_training_does_not_change_what_it_starts_from() -> None:
    start = next(train_bytes(WINDOWS, BUCKETS, replace(SETTINGS, keep=2)))
    before = {name: array.tobytes() for name, array in {**start.weights, **start.state}.items()}
    list(train_bytes(WINDOWS, BUCKETS, SETTINGS, start=start))
    assert before == {name: array.tobytes() for name, array in {**start.weights, **start.state}.items()}


def test_weight_decay_shrinks_rows_that_are_hit_alone() -> None:
    ones: Weights = {name: np.ones_like(AT[name]) for name in AT}
    state = {f"{name}.squares": np.full_like(AT[name], 1e12) for name in AT}
    one = chosen_windows(WINDOWS, np.array([2]))
    chose = replace(SETTINGS, weight_decay=1.0)
    (found,) = train_bytes(one, BUCKETS, replace(chose, epochs=1), start=Checkpoint(0, ones, state))
    rows = np.abs(found.weights["weight"] - 0.9).max(1) < 1e-5
    assert 1 <= rows.sum() <= ORDERS
    assert (found.weights["weight"][~rows] == 1).all()


def test_a_batch_of_too_many_places_is_refused_before_memory_is_taken() -> None:
    many = windows_of(pa.array(["a" * 4096] * 300), ORDERS, 4096)
    with assert_refused(ScoreError, "300 texts", "4,096 positions", "most 1,048,576"):
        list(train_bytes(many, BUCKETS, replace(SETTINGS, batch=1000)))


def test_a_checkpoint_of_other_buckets_is_refused() -> None:
    start = list(train_bytes(WINDOWS, BUCKETS, SETTINGS))[-1]
    with assert_refused(ScoreError, "shape 64", "256", "expected 128", "256"):
        list(train_bytes(WINDOWS, 128, SETTINGS, start=start))
