"""Models without a forward derivative are scored by differences, which say how far off they may be."""

from typing import Any

import numpy as np
import pytest

from tests.scoring.mimic.oracle import apart, by_gradients, scored, towards
from tests.scoring.mimic.zoo import ZOO, Specimen, language_model, linear_head, pair
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.exact import MimicScorer, MimicSettings
from winnow.scoring.mimic.models import Placement, SampleModel

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch


def without_forward(of: Specimen) -> Specimen:
    """The same losses through an operator of the user's with a backward rule alone."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, given: Any) -> Any:
            return given.clone()

        @staticmethod
        def backward(ctx: Any, given: Any) -> Any:
            return given

    model = of.model
    assert isinstance(model, SampleModel)
    inner = model.losses
    return Specimen(SampleModel(lambda w, b: Same.apply(inner(w, b))), of.at, of.reference, of.batch, of.some)


@pytest.mark.parametrize("name", ZOO)
def test_differences_reach_the_exact_score_within_their_error(name: str) -> None:
    of = ZOO[name]()
    said = scored(of, means="differences")
    exact = by_gradients(of)[1]
    assert said.means == "differences"
    assert apart(said.score, exact) <= 1e-7
    assert (np.abs(said.score - exact) <= said.error).all()
    assert said.error.max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("of", [pair(bag=True), without_forward(language_model())], ids=["a bag", "a user's operator"])
def test_what_has_no_forward_derivative_falls_back_and_says_so(of: Specimen) -> None:
    scorer = MimicScorer(of.model, of.at, towards(of))
    for said in (scorer(of.batch), scorer(of.batch)):
        assert said.means == "differences"
        assert (np.abs(said.score - by_gradients(of)[1]) <= said.error).all()


def test_a_model_that_cannot_be_mapped_has_norms_all_the_same() -> None:
    of = without_forward(language_model())
    plain = language_model()
    norms = MimicScorer(of.model, of.at, towards(of)).gradient_norms(of.batch)
    assert norms == pytest.approx(
        MimicScorer(plain.model, plain.at, towards(plain)).gradient_norms(plain.batch), rel=1e-5
    )


def test_asked_for_the_exact_derivative_a_model_without_one_is_refused() -> None:
    with pytest.raises(ScoreError, match="no forward derivative"):
        scored(pair(bag=True), means="forward")


def test_a_model_of_float32_alone_is_still_scored() -> None:
    of = linear_head()
    inner = of.model

    def losses(weights: Any, batch: Any) -> Any:
        if batch[0].dtype != torch.float32:
            raise RuntimeError("\"kernel\" not implemented for 'Double'")
        return inner.losses(weights, batch) if isinstance(inner, SampleModel) else None

    said = MimicScorer(SampleModel(losses), of.at, towards(of), MimicSettings(means="differences"))(of.batch)
    exact = by_gradients(of)[1]
    assert apart(said.score, exact) <= 1e-3
    assert (np.abs(said.score - exact) <= said.error).all()


def test_other_errors_of_a_model_are_not_taken_for_a_missing_derivative() -> None:
    of = linear_head()

    def losses(weights: Any, batch: Any) -> Any:
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        MimicScorer(SampleModel(losses), of.at, towards(of))(of.batch)


def test_a_loss_that_is_no_number_has_no_score() -> None:
    of = linear_head()
    spoilt = of.batch[0].clone()
    spoilt[2] = torch.inf
    settings = MimicSettings(Placement(), means="differences")
    said = MimicScorer(of.model, of.at, towards(of), settings)((spoilt, of.batch[1]))
    assert np.isnan(said.score).tolist() == [False, False, True, False, False, False]
    assert np.isnan(said.error).tolist() == np.isnan(said.score).tolist()
