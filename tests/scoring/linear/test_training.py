"""A head's training is PyTorch's AdamW on weighed batches, and goes on as if it had never stopped."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.messages import assert_refused, assert_told
from tests.scoring.linear.test_head import sparse
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.score import RelativeTemperature, Temperature
from winnow.scoring.linear.head import HeadScorer, head_losses, initial_head
from winnow.scoring.linear.schedule import in_batch
from winnow.scoring.linear.training import train_head
from winnow.scoring.protocol import Checkpoint, Method, TrainingSettings, Weights

CLASSES, WIDTH, ROWS = 4, 23, 107
DRAW = np.random.default_rng(2)
FEATURES = DRAW.normal(size=(ROWS, WIDTH)).astype(np.float32)
TRUE: Weights = {"weight": DRAW.normal(size=(CLASSES, WIDTH)).astype(np.float32), "bias": np.zeros(4, np.float32)}
LABELS = (FEATURES @ TRUE["weight"].T).argmax(1)
SETTINGS = TrainingSettings(epochs=3, batch=16, learning_rate=0.01, weight_decay=0.1, temperature=0.5, seed=5)
METHODS: tuple[Method, ...] = ("uniform", "mimic", "grand", "rho")


def last(settings: TrainingSettings, start: Checkpoint | None = None, thin: bool = False) -> Checkpoint:
    features = sparse(FEATURES.astype(np.float64)) if thin else FEATURES
    return list(train_head(features, LABELS, CLASSES, settings, TRUE, start))[-1]


@pytest.mark.torch
@pytest.mark.parametrize("parameters", [("*",), ("weight",), ("bias",)])
@pytest.mark.parametrize("method", METHODS)
def test_training_is_that_of_torch(method: Method, parameters: tuple[str, ...]) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    settings = replace(SETTINGS, method=method, parameters=parameters)
    fresh = initial_head(CLASSES, WIDTH, SETTINGS.seed)
    values = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in fresh.items()}
    target = {name: torch.tensor(array, dtype=torch.float64) for name, array in TRUE.items()}
    chosen = [name for name in values if parameters in (("*",), (name,))]
    optimiser = torch.optim.AdamW(values.values(), lr=0.01, weight_decay=0.1)
    inputs, labels = torch.tensor(FEATURES.astype(np.float64)), torch.tensor(LABELS)

    def loss_of(weights: object, rows: object) -> object:
        said = torch.nn.functional.linear(inputs[rows], weights["weight"], weights["bias"])  # type: ignore[index]
        return torch.nn.functional.cross_entropy(said, labels[rows], reduction="none")

    def oracle(_step: int, which: NDArray[np.int64], weighed: NDArray[np.float64]) -> None:
        rows = torch.tensor(which)
        of = [torch.autograd.grad(loss_of(values, rows[[at]])[0], values.values()) for at in range(len(rows))]  # type: ignore[index]
        by = [dict(zip(values, one, strict=True)) for one in of]
        away = {name: (target[name] - values[name]).detach() for name in chosen}
        norm = sum(one.square().sum() for one in away.values()).sqrt()
        means = {
            "mimic": lambda: torch.stack([-sum((g[n] * away[n]).sum() for n in chosen) / norm for g in by]) / 0.5,
            "grand": lambda: torch.stack([sum(g[n].square().sum() for n in chosen).sqrt() for g in by]),
            "rho": lambda: (loss_of(values, rows) - loss_of(target, rows)).detach(),  # type: ignore[operator]
            "uniform": lambda: torch.zeros(len(rows), dtype=torch.float64),
        }
        weights = torch.softmax(means[method](), 0)
        np.testing.assert_allclose(weighed, weights.numpy(), rtol=1e-8)
        for name, value in values.items():
            share = weights if name in chosen else torch.full_like(weights, 1 / len(rows))
            value.grad = sum(one * g[name] for one, g in zip(share, by, strict=True))
        optimiser.step()

    (found,) = train_head(FEATURES.astype(np.float64), LABELS, CLASSES, settings, TRUE, watch=oracle)
    for name, value in values.items():
        np.testing.assert_allclose(found.weights[name], value.detach().numpy(), rtol=1e-8, atol=1e-10)
        kept = optimiser.state[value]
        np.testing.assert_allclose(found.state[f"{name}.second"], kept["exp_avg_sq"].numpy(), rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_samples_weigh_what_the_method_says_at_each_step(method: Method) -> None:
    settings = replace(SETTINGS, method=method, epochs=1, keep=100)
    history: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    kept = list(
        train_head(FEATURES, LABELS, CLASSES, settings, TRUE, watch=lambda _, which, one: history.append((which, one)))
    )
    before: list[Weights] = [initial_head(CLASSES, WIDTH, SETTINGS.seed), *(one.weights for one in kept)]
    for weights, (which, weighed) in zip(before, history, strict=False):
        rows, labels = FEATURES[which], LABELS[which]
        plain, over_norm = (
            HeadScorer([weights], TRUE, cosine=cosine)(rows, labels)[0].score for cosine in (False, True)
        )
        values = {
            "mimic": plain,
            "grand": plain / over_norm,
            "rho": head_losses(weights, rows, labels) - head_losses(TRUE, rows, labels),
            "uniform": np.zeros(len(which)),
        }[method]
        np.testing.assert_allclose(weighed, in_batch(method, values, settings.temperature), rtol=1e-4)
    assert sorted(np.concatenate([which for which, _ in history]).tolist()) == list(range(ROWS))


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_training_ends_as_one_that_was_not(method: Method) -> None:
    settings = replace(SETTINGS, method=method, keep=4)
    whole = list(train_head(FEATURES, LABELS, CLASSES, settings, TRUE))
    assert [one.step for one in whole] == [5, 10, 15, 21]
    rest = list(train_head(FEATURES, LABELS, CLASSES, settings, TRUE, whole[1]))
    assert [one.step for one in rest] == [15, 21]
    for name, array in {**whole[-1].weights, **whole[-1].state}.items():
        assert array.tobytes() == {**rest[-1].weights, **rest[-1].state}[name].tobytes()
    assert list(train_head(FEATURES, LABELS, CLASSES, settings, TRUE, whole[-1])) == [whole[-1]]


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_train_as_the_same_dense_ones(method: Method) -> None:
    settings = replace(SETTINGS, method=method)
    dense, thin = last(settings), last(settings, thin=True)
    for name in dense.weights:
        np.testing.assert_allclose(thin.weights[name], dense.weights[name], rtol=1e-3, atol=1e-4)
    again = last(replace(settings, keep=1), start=thin, thin=True)
    assert again is thin


def test_training_lowers_the_loss() -> None:
    fresh = initial_head(CLASSES, WIDTH, 0)
    found = last(SETTINGS).weights
    assert head_losses(found, FEATURES, LABELS).mean() < 0.8 * head_losses(fresh, FEATURES, LABELS).mean()


def test_what_cannot_train_says_why() -> None:
    def refused(settings: TrainingSettings, rows: int = ROWS, reference: Weights | None = TRUE) -> str:
        with pytest.raises(ScoreError) as error:
            list(train_head(FEATURES[:rows], LABELS[:rows], CLASSES, settings, reference))
        return str(error.value)

    assert refused(SETTINGS, rows=0).startswith("nothing to train on")
    assert "needs reference weights" in refused(replace(SETTINGS, method="mimic"), reference=None)
    assert_told(refused(replace(SETTINGS, batch=0)), "batch 0", "least 1", whole=True)
    assert_told(refused(replace(SETTINGS, temperature=0)), "temperature 0", "above 0", whole=True)
    assert "diverged" in refused(replace(SETTINGS, learning_rate=1e38))
    wide: Weights = {"weight": np.zeros((CLASSES, WIDTH + 1)), "bias": np.zeros(CLASSES)}
    assert_told(
        refused(replace(SETTINGS, method="rho"), reference=wide), "shape 4", "24", "expected 4", "23", whole=True
    )


def test_a_checkpoint_of_another_model_is_refused_by_the_name_of_its_parameter() -> None:
    found = last(SETTINGS)
    with pytest.raises(ScoreError, match=r"the checkpoint's state: bias\.second: missing"):
        last(SETTINGS, Checkpoint(3, found.weights, {k: v for k, v in found.state.items() if k != "bias.second"}))
    broken = found.weights["weight"].copy()
    broken[0, 0] = np.nan
    with assert_refused(ScoreError, "checkpoint", "1 of 92"):
        last(SETTINGS, Checkpoint(3, {**found.weights, "weight": broken}, found.state))
    with assert_refused(ScoreError, "step 21", "7"):
        last(replace(SETTINGS, epochs=1), found)


def test_a_relative_temperature_is_in_units_of_the_scores_deviation() -> None:
    values = DRAW.normal(size=32)
    relative = in_batch("mimic", values, RelativeTemperature(0.5))
    np.testing.assert_allclose(relative, in_batch("mimic", values, 0.5 * float(values.std())), rtol=1e-12)
    np.testing.assert_allclose(in_batch("mimic", 7 * values, RelativeTemperature(0.5)), relative, rtol=1e-12)
    assert in_batch("mimic", np.full(4, 3.0), RelativeTemperature(0.5)).tolist() == [0.25] * 4


def gap_closed(
    times: float, temperature: Temperature, seed: int, count: int = 3000, epochs: int = 10, same_steps: bool = False
) -> float:
    """The part of the gap between plain training and the reference that Mimic closes, with half of the labels wrong
    and features multiplied; with `same_steps` the head says as much more after each step as it did before."""
    draw = np.random.default_rng(seed)
    middles, labels = 0.45 * draw.normal(size=(10, 64)), draw.integers(0, 10, count + 4000)
    features = (times * (middles[labels] + draw.normal(size=(count + 4000, 64)))).astype(np.float32)
    train, test, clean = features[:count], features[count:], labels[:count]
    given = np.where(draw.random(count) < 0.5, (clean + draw.integers(1, 10, count)) % 10, clean)
    by = times if same_steps else 1.0
    plain = TrainingSettings(
        epochs=epochs, learning_rate=1e-3 / by, weight_decay=1e-5 * by, seed=123, parameters=("weight",)
    )

    def start(seed: int) -> Checkpoint:
        head = initial_head(10, 64, seed)
        return Checkpoint(0, {"weight": head["weight"] / np.float32(by), "bias": head["bias"]}, {})

    *_, reference = train_head(train, clean, 10, plain, start=start(123))
    found = []
    for settings in (
        replace(plain, seed=seed),
        replace(plain, seed=seed, method="mimic", temperature=temperature),
    ):
        *_, head = train_head(train, given, 10, settings, reference.weights, start(seed))
        found.append(head.weights)
    right = [
        float(((test @ one["weight"].T + one["bias"]).argmax(1) == labels[count:]).mean())
        for one in (*found, reference.weights)
    ]
    return 100 * (right[1] - right[0]) / (right[2] - right[0])


def change(temperature: Temperature, **settings: Any) -> float:
    """By how much the gap closed changes if features are multiplied by .4 to 2."""
    closed = [
        float(np.mean([gap_closed(times, temperature, seed, **settings) for seed in (1, 2)]))
        for times in (0.4, 1.0, 2.0)
    ]
    return max(closed) - min(closed)


def test_a_relative_temperature_needs_no_tuning_to_the_norm_of_features() -> None:
    """The gap closed changes by less than 10 points if features are multiplied by .4 to 2; at temperature 1 by more."""
    assert change(RelativeTemperature(1.0)) < 10
    assert change(1.0) > 15


def test_where_steps_are_as_long_a_relative_temperature_sees_no_norm() -> None:
    """What else changes with the norm is the training, even in 205 steps, where all methods change with it."""
    short = {"count": 1300, "epochs": 5, "same_steps": True}
    assert change(RelativeTemperature(1.0), **short) < 3
    assert change(1.0, **short) > 15
