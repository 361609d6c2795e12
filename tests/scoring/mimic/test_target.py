"""The measure `target`: each sample's gradient along that of a target's mean loss, against products of whole gradients.

And Rho-1's measure of tokens, against a sort of every token's loss. Both in float64.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from tests.messages import assert_refused
from tests.scoring.linear import test_head as heads
from tests.scoring.linear import test_next_bytes as texts
from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.byte_training import byte_gradient
from winnow.scoring.linear.features import rows_of
from winnow.scoring.linear.head import HeadScorer
from winnow.scoring.linear.next_bytes import ByteScorer
from winnow.scoring.linear.training import head_gradient
from winnow.scoring.linear.windows import chosen_windows
from winnow.scoring.mimic.direction import against
from winnow.scoring.protocol import Floats, Weights, references_of, with_loss

CHOICES = [("*",), ("weight",), ("bias",)]


def flat(weights: Weights) -> Floats:
    found: Floats = np.concatenate([np.asarray(one, np.float64).reshape(-1) for one in weights.values()])
    return found


@pytest.mark.parametrize("parameters", CHOICES)
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("thin", [False, True])
def test_a_heads_samples_are_compared_with_a_targets_gradient(
    parameters: tuple[str, ...], cosine: bool, thin: bool
) -> None:
    features = heads.sparse(heads.FEATURES) if thin else heads.FEATURES
    target = np.arange(7, 40)
    each = heads.gradients(parameters)  # of every sample, made one by one
    wanted = each[target].mean(0)
    some = rows_of(features, target)
    found = head_gradient(heads.HEAD, some, heads.LABELS[target], parameters)
    np.testing.assert_allclose(flat(found), wanted, rtol=1e-9, atol=1e-12)
    products = each @ wanted / np.linalg.norm(wanted)
    products /= np.linalg.norm(each, axis=1) if cosine else 1
    (said,) = HeadScorer([heads.HEAD], against(heads.HEAD, found), parameters, cosine=cosine)(features, heads.LABELS)
    np.testing.assert_allclose(said.score, products, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("parameters", CHOICES)
def test_texts_are_compared_with_a_targets_gradient(parameters: tuple[str, ...]) -> None:
    names = [name for name in texts.AT if parameters in (("*",), (name,))]
    each = np.array(
        [
            flat({name: slopes[name] for name in names})
            for _, slopes in (texts.gradient(texts.AT, texts.WINDOWS, text) for text in range(len(texts.TEXTS)))
        ]
    )
    target = np.array([0, 1, 3])
    wanted = each[target].mean(0)
    found = byte_gradient(texts.AT, chosen_windows(texts.WINDOWS, target), parameters)
    np.testing.assert_allclose(flat(found), wanted, rtol=1e-5, atol=1e-8)
    said = ByteScorer(texts.AT, against(texts.AT, found), parameters)(texts.WINDOWS).score
    np.testing.assert_allclose(said, each @ wanted / np.linalg.norm(wanted), rtol=1e-5, atol=1e-6)


def test_a_target_without_a_gradient_or_without_a_loss_is_one_line() -> None:
    with assert_refused(ScoreError, "the target's gradient has the norm 0: there is no direction"):
        against(heads.HEAD, {"bias": np.zeros(heads.CLASSES)})
    with assert_refused(ScoreError, "none of 2 samples has a finite loss"):
        with_loss(np.array([np.nan, np.inf]))


def test_each_of_several_weights_may_have_a_reference_of_its_own() -> None:
    assert references_of([{}, {}], heads.HEAD) == [heads.HEAD, heads.HEAD]
    assert references_of([{}], [heads.REFERENCE]) == [heads.REFERENCE]


def by_hand(task: Any, at: Weights, examples: Any, names: Sequence[str]) -> Floats:
    """The gradient of each example's loss, by a pass back through the plain model."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    weights = {name: torch.from_numpy(np.array(one)).requires_grad_() for name, one in at.items()}
    found = np.empty((examples.count, sum(at[name].size for name in names)))
    for which in task.groups(examples):
        batch = task.batch(examples.chosen(which))
        model = task.model
        losses = model.whole(weights, batch) if hasattr(model, "whole") else model.losses(weights, batch)
        for place, loss in zip(which, losses, strict=True):
            slopes = torch.autograd.grad(
                loss, [weights[name] for name in names], retain_graph=True, materialize_grads=True
            )
            found[place] = np.concatenate([one.numpy().reshape(-1) for one in slopes])
    return found


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["texts", "pairs"])
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("memory_bytes", [256 << 20, 1])  # all at once, and one at a time
def test_networks_compare_gradients(kind: str, cosine: bool, memory_bytes: int) -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    from tests.scoring.tasks import test_language_model as language
    from tests.scoring.tasks import test_pairs as pairs
    from winnow.scoring.torch_models.runtime import TorchRuntime

    running = TorchRuntime(compute="float64", memory_bytes=memory_bytes)
    task: Any
    if kind == "texts":
        task = language.loaded(replace(language.CONFIG, running=running))
        examples = task.encode(language.rows(language.TEXTS)).examples
    else:
        running = replace(running, memory_bytes=max(memory_bytes, 1 << 14))
        whole = pairs.loaded(replace(pairs.CONFIG, running=running))
        task = whole.among(whole.companions(pairs.some(whole, 4)))
        examples = pairs.some(whole, 9)
    at = language.moved(task.initial(0))
    names, target = task.network.trained, np.array([1, 2, 5])
    each = by_hand(task, at, examples, names)
    wanted = each[target].mean(0)
    found = task.gradient(at, examples.chosen(target), ("*",))
    np.testing.assert_allclose(flat(found), wanted, rtol=1e-8, atol=1e-12)
    products = each @ wanted / np.linalg.norm(wanted)
    products /= np.linalg.norm(each, axis=1) if cosine else 1
    reference = language.moved(at)
    towards, said = task.scorers([at, at], [reference, against(at, found)], ("*",), cosine=cosine)(examples)
    np.testing.assert_allclose(said.score, products, rtol=1e-7, atol=1e-10)
    (alone,) = task.scorers([at], reference, ("*",), cosine=cosine)(examples)
    np.testing.assert_array_equal(towards.score, alone.score)
    np.testing.assert_array_equal(towards.loss, alone.loss)


@pytest.mark.torch
@pytest.mark.parametrize("longer", ["cut", "mean", "max"])
def test_the_gradient_of_long_texts_is_that_of_their_losses(longer: Literal["cut", "mean", "max"]) -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    from tests.scoring.tasks import test_language_model as language
    from winnow.scoring.torch_models.runtime import TorchRuntime

    running = TorchRuntime(compute="float64")
    task = language.loaded(replace(language.CONFIG, max_tokens=40, longer=longer, running=running))
    examples = task.encode(language.rows([*language.TEXTS, "longer and longer " * 9])).examples
    at = language.moved(task.initial(0))
    found = flat(task.gradient(at, examples, ("*",)))
    draw = np.random.default_rng(5)
    unit = {name: draw.normal(size=one.shape) for name, one in at.items()}
    ahead, behind = (
        task.losses({name: one + sign * 1e-6 * unit[name] for name, one in at.items()}, examples).mean()
        for sign in (1, -1)
    )
    assert found @ flat(unit) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("share", [0.6, 0.01, 1.0])
def test_the_tokens_with_the_largest_loss_above_the_references_are_averaged(share: float) -> None:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
    from tests.scoring.tasks import test_language_model as language
    from winnow.scoring.torch_models.runtime import TorchRuntime

    task = language.loaded(replace(language.CONFIG, running=TorchRuntime(compute="float64")))
    examples = task.encode(language.rows(language.TEXTS)).examples
    at = [language.moved(task.initial(0)), language.moved(task.initial(1))]
    reference = language.moved(task.initial(2), 0.2)
    scorers = task.scorers([*at, at[0]], [reference, reference, at[1]], ("*",))
    found = task.token_rho(scorers, reference, share, 2)(examples)
    assert len(found) == 2
    for weights, column in zip(at, found, strict=True):
        for place, text in enumerate(language.TEXTS):
            raw = torch.tensor([[0, *text.encode()]])
            losses = [
                torch.nn.functional.cross_entropy(
                    task.network.forward({n: torch.from_numpy(v) for n, v in one.items()}, raw[:, :-1])[0],
                    raw[0, 1:],
                    reduction="none",
                )
                for one in (weights, reference)
            ]
            above = np.sort((losses[0] - losses[1]).detach().numpy())[::-1]
            most = max(1, int(np.ceil(share * len(above) - 1e-9)))
            assert column[place] == pytest.approx(above[:most].mean(), rel=1e-9, abs=1e-12)
            if share == 1.0:
                loss = task.losses(weights, examples)[place] - task.losses(reference, examples)[place]
                assert column[place] == pytest.approx(loss, rel=1e-9, abs=1e-12)
