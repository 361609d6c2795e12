"""Training by each method: the gradient that it takes, and weights that do not know whether it was stopped."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, noise, squares
from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.schedule import epoch_order
from winnow.scoring.protocol import Checkpoint, Method, TrainingSettings, Weights
from winnow.scoring.tasks.image_classifier import TASK, ImageClassifier, ImageClassifierConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.runtime import TorchRuntime
from winnow.scoring.torch_models.training import BETAS, EPSILON

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = ImageClassifierConfig(label="label", labels=("cat", "dog"), size=16, network=Size(4, 1, 1))
SETTINGS = TrainingSettings(epochs=2, batch=4, learning_rate=0.01, weight_decay=0.1, seed=5)
METHODS: tuple[Method, ...] = ("uniform", "mimic", "grand", "rho")


def loaded(config: ImageClassifierConfig = CONFIG) -> ImageClassifier:
    found = TASK.load(config, NoFiles())
    assert isinstance(found, ImageClassifier)
    return found


def ten(task: ImageClassifier) -> Any:
    rows = pa.record_batch({"image": squares([noise(seed) for seed in range(10)]), "label": ["cat", "dog"] * 5})
    return task.encode(rows).examples


def trained(
    settings: TrainingSettings, start: Checkpoint | None = None, task: ImageClassifier | None = None
) -> list[Checkpoint]:
    task = task or loaded()
    return list(task.train(ten(task), 10, settings, task.initial(9), start))


def same(first: Weights, second: Weights) -> bool:
    return first.keys() == second.keys() and all(first[one].tobytes() == second[one].tobytes() for one in first)


@pytest.mark.parametrize("method", METHODS)
def test_stopped_and_gone_on_it_ends_in_the_same_bits(method: Method) -> None:
    settings = replace(SETTINGS, method=method, keep=6)
    whole = trained(settings)
    assert [one.step for one in whole] == [1, 2, 3, 4, 5, 6]
    for start in (whole[0], whole[3]):
        rest = trained(settings, start)
        assert [one.step for one in rest] == [one.step for one in whole if one.step > start.step]
        assert same(rest[-1].weights, whole[-1].weights)
        assert same(rest[-1].state, whole[-1].state)


def test_at_its_end_there_is_nothing_left_to_do() -> None:
    last = trained(SETTINGS)[-1]
    (again,) = trained(SETTINGS, last)
    assert again.step == last.step
    assert same(again.weights, last.weights)


def test_methods_and_seeds_give_different_weights() -> None:
    ends = [trained(replace(SETTINGS, method=method))[-1] for method in METHODS]
    ends.append(trained(replace(SETTINGS, seed=6))[-1])
    assert len({one.weights["head.weight"].tobytes() for one in ends}) == len(ends)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_adamw_along_the_weighed_gradient(method: Method) -> None:
    """By hand, in float64: the weights of samples, their gradients one by one, and the first step of AdamW."""
    settings = replace(SETTINGS, method=method, epochs=1, batch=10, temperature=0.1, parameters=("head.*",))
    task = loaded(replace(CONFIG, running=TorchRuntime(compute="float64")))
    (found,) = task.train(ten(task), 10, settings, task.initial(9), None)
    at, reference = task.initial(5), task.initial(9)
    parameters = {name: torch.from_numpy(value).requires_grad_() for name, value in at.items()}
    order = epoch_order(settings.seed, 0, 10)
    losses = task.model.losses(parameters, task.batch(task.chosen(ten(task), order)))
    gradients = [
        dict(zip(at, torch.autograd.grad(loss, list(parameters.values()), retain_graph=True), strict=True))
        for loss in losses
    ]
    head = [name for name in at if name.startswith("head.")]
    towards = {name: torch.from_numpy(reference[name] - at[name]) for name in head}
    norm = math.sqrt(sum(float((one**2).sum()) for one in towards.values()))
    if method == "mimic":
        scores = [-sum(float((g[name] * towards[name]).sum()) for name in head) / norm for g in gradients]
        said = np.array(scores) / settings.temperature
    elif method == "grand":
        said = np.array([math.sqrt(sum(float((g[name] ** 2).sum()) for name in head)) for g in gradients])
    elif method == "rho":
        of_reference = task.losses(reference, task.chosen(ten(task), order))
        said = losses.detach().numpy() - of_reference
    else:
        said = np.zeros(10)
    weights = np.exp(said - said.max()) / np.exp(said - said.max()).sum()
    for name, value in at.items():
        each = np.stack([g[name].numpy() for g in gradients])
        gradient = np.tensordot(weights if name in head else np.full(10, 0.1), each, 1)
        moved = (1 - BETAS[0]) * gradient / (1 - BETAS[0])
        spread = np.sqrt((1 - BETAS[1]) * gradient**2 / (1 - BETAS[1]))
        kept = value * (1 - settings.learning_rate * settings.weight_decay)
        expected = kept - settings.learning_rate * moved / (spread + EPSILON)
        np.testing.assert_allclose(found.weights[name], expected, rtol=1e-9, atol=1e-9)


def test_what_does_not_require_a_gradient_and_buffers_stay() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:user_classifier"))
    before, after = task.initial(5), trained(SETTINGS, task=task)[-1].weights
    changed = {name for name in before if before[name].tobytes() != after[name].tobytes()}
    assert changed == set(task.network.trained)


def test_a_module_without_a_forward_derivative_is_trained_by_its_gradients() -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:without_forward_mode"))
    assert np.isfinite(trained(replace(SETTINGS, method="mimic"), task=task)[-1].weights["head.weight"]).all()


def test_less_precision_trains_weights_of_32_bits() -> None:
    task = loaded(replace(CONFIG, running=TorchRuntime(compute="bfloat16")))
    last = trained(replace(SETTINGS, method="mimic"), task=task)[-1]
    assert {value.dtype for value in last.weights.values()} == {np.dtype(np.float32)}
    assert not same(last.weights, trained(replace(SETTINGS, method="mimic"))[-1].weights)


@pytest.mark.parametrize("method", ["mimic", "rho"])
def test_what_needs_a_reference_says_so(method: Method) -> None:
    task = loaded()
    with pytest.raises(ScoreError, match=f"method {method}: needs reference weights"):
        list(task.train(ten(task), 10, replace(SETTINGS, method=method), None, None))


def test_no_examples_is_one_line() -> None:
    task = loaded()
    nothing = task.chosen(ten(task), np.arange(0))
    with pytest.raises(ScoreError, match="nothing to train on"):
        list(task.train(nothing, 0, SETTINGS, None, None))
    with pytest.raises(ScoreError, match="10 examples, 11 were announced"):
        list(task.train(ten(task), 11, SETTINGS, None, None))


def test_a_training_that_runs_away_is_one_line() -> None:
    with pytest.raises(ScoreError, match="a loss is NaN at step 2; lower learning_rate"):
        trained(replace(SETTINGS, learning_rate=1e30))


def test_a_batch_that_does_not_fit_is_one_line() -> None:
    with pytest.raises(ScoreError, match="out of memory on a batch of 4; lower batch"):
        trained(SETTINGS, task=loaded(replace(CONFIG, architecture=f"{SAMPLES}:hungry")))


def test_a_checkpoint_without_its_state_is_one_line() -> None:
    first = trained(replace(SETTINGS, keep=6))[0]
    with pytest.raises(ScoreError, match="has no `exp_avg` of"):
        trained(SETTINGS, Checkpoint(first.step, first.weights, {}))
    with pytest.raises(ScoreError, match="is of step 99; this training ends at 6"):
        trained(SETTINGS, Checkpoint(99, first.weights, first.state))


def test_weights_that_are_given_to_begin_with_are_begun_with() -> None:
    task = loaded()
    given = Checkpoint(0, task.initial(3), {})
    one, other = (trained(replace(SETTINGS, epochs=1, batch=10), start)[-1] for start in (given, None))
    assert not same(one.weights, other.weights)


def test_modes_of_pytorch_are_the_callers_between_checkpoints() -> None:
    task = loaded()
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads(), torch.is_grad_enabled()
    for _ in task.train(ten(task), 10, replace(SETTINGS, keep=3), None, None):
        assert (
            torch.are_deterministic_algorithms_enabled(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
        ) == before


def test_training_towards_a_reference_finds_it_better_than_chance() -> None:
    task = loaded()
    (last,) = task.train(ten(task), 10, replace(SETTINGS, epochs=60, learning_rate=0.02), None, None)
    assert task.losses(last.weights, ten(task)).mean() < 0.3 < task.losses(task.initial(5), ten(task)).mean()
