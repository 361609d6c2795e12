"""The score of a softmax head is the directional derivative of each loss, and a row's value is its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.features import Real, Sparse, rows_of
from winnow.scoring.linear.head import HeadScorer, head_losses, initial_head
from winnow.scoring.protocol import Weights

CLASSES, WIDTH, ROWS = 5, 37, 300
DRAW = np.random.default_rng(0)
# Of a size that leaves all classes some share: where one has nearly all, the oracles lose digits in p - 1.
HEAD: Weights = {"weight": DRAW.normal(0, 0.2, (CLASSES, WIDTH)), "bias": DRAW.normal(0, 0.2, CLASSES)}
REFERENCE: Weights = {"weight": DRAW.normal(0, 0.2, (CLASSES, WIDTH)), "bias": DRAW.normal(0, 0.2, CLASSES)}
FEATURES = DRAW.normal(size=(ROWS, WIDTH))
LABELS = DRAW.integers(0, CLASSES, ROWS)

CHOICES = [("*",), ("weight",), ("bias",)]


def sparse(dense: Real) -> Sparse:
    rows, columns = np.nonzero(dense)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))]).astype(np.int64)
    return Sparse(columns.astype(np.int32), dense[rows, columns], offsets, dense.shape[1])


def step(parameters: tuple[str, ...]) -> Weights:
    """The unit direction: zero where a parameter is not chosen."""
    chosen = ("weight", "bias") if parameters == ("*",) else parameters
    moved = {name: (REFERENCE[name] - HEAD[name]) * (name in chosen) for name in HEAD}
    norm = np.sqrt(sum(np.square(one).sum() for one in moved.values()))
    return {name: one / norm for name, one in moved.items()}


def complex_losses(weights: Weights) -> NDArray[np.complex128]:
    logits = FEATURES @ weights["weight"].T + weights["bias"]
    found: NDArray[np.complex128] = np.log(np.exp(logits).sum(1)) - logits[np.arange(ROWS), LABELS]
    return found


def gradients(parameters: tuple[str, ...]) -> NDArray[np.float64]:
    """Every sample's gradient as a row, made one by one."""
    logits = FEATURES @ HEAD["weight"].T + HEAD["bias"]
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = []
    for share, label, features in zip(shares, LABELS, FEATURES, strict=True):
        away = share - np.eye(CLASSES)[label]
        parts = {"weight": np.outer(away, features).ravel(), "bias": away}
        found.append(np.concatenate([parts[name] for name in parts if parameters in (("*",), (name,))]))
    return np.array(found)


@pytest.mark.parametrize("parameters", CHOICES)
def test_the_score_is_the_derivative_of_the_loss_towards_the_reference(parameters: tuple[str, ...]) -> None:
    small = 1e-30  # a step along the imaginary axis takes no difference, so nothing cancels
    moved = {name: HEAD[name] + 1j * small * one for name, one in step(parameters).items()}
    slopes = complex_losses(moved).imag / small
    (found,) = HeadScorer([HEAD], REFERENCE, parameters)(FEATURES, LABELS)
    np.testing.assert_allclose(found.score, -slopes, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.loss, complex_losses(HEAD).real, rtol=1e-10)


@pytest.mark.parametrize("parameters", CHOICES)
def test_the_score_is_that_of_gradients_of_single_samples(parameters: tuple[str, ...]) -> None:
    made, unit = gradients(parameters), step(parameters)
    along = np.concatenate([unit[n].ravel() for n in ("weight", "bias") if parameters in (("*",), (n,))])
    norms = np.linalg.norm(made, axis=1)
    (plain,) = HeadScorer([HEAD], REFERENCE, parameters)(FEATURES, LABELS)
    (cosine,) = HeadScorer([HEAD], REFERENCE, parameters, cosine=True)(FEATURES, LABELS)
    np.testing.assert_allclose(plain.score, -made @ along, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cosine.score, -made @ along / norms, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cosine", [False, True])
def test_sparse_rows_score_as_the_same_dense_ones(cosine: bool) -> None:
    thin = np.where(np.random.default_rng(1).random(FEATURES.shape) < 0.2, FEATURES, 0)
    scorer = HeadScorer([HEAD], REFERENCE, cosine=cosine)
    (dense,), (few,) = scorer(thin, LABELS), scorer(sparse(thin), LABELS)
    np.testing.assert_allclose(few.score, dense.score, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(few.loss, dense.loss, rtol=1e-10)
    np.testing.assert_allclose(head_losses(HEAD, sparse(thin), LABELS), dense.loss, rtol=1e-10)


def test_single_precision_is_within_the_tolerance() -> None:
    narrow = HeadScorer([HEAD], REFERENCE)(FEATURES.astype(np.float32), LABELS)[0].score
    wide = HeadScorer([HEAD], REFERENCE)(FEATURES, LABELS)[0].score
    assert np.abs(narrow - wide).max() <= 1e-5 * np.abs(wide).max()


def test_several_heads_in_one_pass_score_as_each_alone() -> None:
    heads = [{name: HEAD[name] * share for name in HEAD} for share in (0.1, 0.5, 2.0)]
    for head, found in zip(heads, HeadScorer(heads, REFERENCE)(FEATURES, LABELS), strict=True):
        (alone,) = HeadScorer([head], REFERENCE)(FEATURES, LABELS)
        np.testing.assert_allclose(found.score, alone.score, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.loss, head_losses(head, FEATURES, LABELS), rtol=1e-10)


@settings(max_examples=scaled(40), deadline=None)
@given(which=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=50), thin=st.booleans(), cosine=st.booleans())
def test_a_rows_value_does_not_depend_on_its_batch(which: list[int], thin: bool, cosine: bool) -> None:
    narrow = FEATURES.astype(np.float32)
    features = sparse(narrow) if thin else narrow
    scorer, places = HeadScorer([HEAD], REFERENCE, cosine=cosine), np.array(which)
    (whole,), (part,) = scorer(features, LABELS), scorer(rows_of(features, places), LABELS[places])
    if thin:
        assert part.score.tobytes() == whole.score[places].tobytes()
        assert part.loss.tobytes() == whole.loss[places].tobytes()
    np.testing.assert_allclose(part.score, whole.score[places], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(part.loss, whole.loss[places], rtol=1e-5, atol=1e-6)


def test_what_is_no_number_is_said_of_its_row_alone() -> None:
    broken = FEATURES.copy()
    broken[1, 3], broken[4, 0], broken[6, 2] = np.nan, np.inf, -np.inf
    (found,), (whole,) = HeadScorer([HEAD], REFERENCE)(broken, LABELS), HeadScorer([HEAD], REFERENCE)(FEATURES, LABELS)
    bad = np.isin(np.arange(ROWS), [1, 4, 6])
    assert np.isnan(found.score[bad]).all()
    assert np.isnan(found.loss[bad]).all()
    assert (found.score[~bad] == whole.score[~bad]).all()


def test_a_sample_that_is_certain_keeps_its_small_loss() -> None:
    head = {"weight": np.array([[40.0], [0.0]]), "bias": np.zeros(2)}
    one, label = np.ones((1, 1)), np.zeros(1, np.int64)
    assert head_losses(head, one, label)[0] == pytest.approx(np.exp(-40), rel=1e-12)


def test_a_reference_that_is_the_head_has_no_direction() -> None:
    with pytest.raises(ScoreError, match="there is no direction"):
        HeadScorer([HEAD], HEAD)
    with pytest.raises(ScoreError, match="there is no direction"):
        HeadScorer([HEAD], {"weight": REFERENCE["weight"], "bias": HEAD["bias"]}, ("bias",))


def test_a_glob_that_matches_nothing_is_refused() -> None:
    with pytest.raises(ScoreError, match="wieght"):
        HeadScorer([HEAD], REFERENCE, ("wieght",))


def test_no_rows_have_no_scores() -> None:
    (found,) = HeadScorer([HEAD], REFERENCE)(FEATURES[:0], LABELS[:0])
    assert found.score.shape == found.loss.shape == (0,)


def test_untrained_weights_follow_from_the_seed() -> None:
    assert (initial_head(3, 16, 1)["weight"] == initial_head(3, 16, 1)["weight"]).all()
    assert (initial_head(3, 16, 1)["weight"] != initial_head(3, 16, 2)["weight"]).any()
    assert np.abs(initial_head(3, 16, 1)["weight"]).max() <= 1 / 4
