"""The score is the negative inner product of a sample's gradient with the unit direction, for every kind of model."""

from typing import Any

import numpy as np
import pytest

from tests.scoring.mimic.oracle import apart, by_gradients, scored, towards
from tests.scoring.mimic.zoo import ZOO, Specimen, language_model, linear_head, pair
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.exact import TOLERANCE, MimicScorer
from winnow.scoring.mimic.gradients import gradient_slopes
from winnow.scoring.mimic.memory import BatchPortions
from winnow.scoring.mimic.models import BatchModel, Placement, Precision, SampleModel

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("part", ["all", "some"])
@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
def test_scores_are_those_of_per_sample_gradients(name: str, part: str, precision: Precision) -> None:
    of = ZOO[name]()
    globs = ("*",) if part == "all" else of.some
    losses, expected = by_gradients(of, globs)
    said = scored(of, globs, placement=Placement(precision=precision))
    assert said.means == "forward"
    assert apart(said.score, expected) <= TOLERANCE[precision]
    assert apart(said.loss, losses) <= TOLERANCE[precision]


@pytest.mark.parametrize("name", ZOO)
def test_a_batch_in_portions_scores_as_in_one(name: str) -> None:
    of = ZOO[name](count=9)
    assert apart(scored(of, max_bytes=1).score, scored(of).score) <= TOLERANCE["float32"]


@pytest.mark.parametrize("name", ZOO)
def test_equal_batches_score_equally_to_the_last_bit(name: str) -> None:
    assert scored(ZOO[name]()).score.tobytes() == scored(ZOO[name]()).score.tobytes()


@pytest.mark.parametrize("name", ZOO)
def test_the_cosine_divides_by_the_gradients_norm(name: str) -> None:
    of = ZOO[name]()
    plain, cosine = scored(of), scored(of, cosine=True)
    norms = MimicScorer(of.model, of.at, towards(of)).gradient_norms(of.batch)
    assert cosine.score == pytest.approx(plain.score / norms, rel=1e-6)
    assert np.abs(cosine.score).max() <= 1
    own = dict(towards(of).unit)
    for sample in range(2):  # along its own gradient a sample's score is minus the gradient's norm
        gradient = gradient_of(of, sample)
        length = np.sqrt(sum(float(np.square(one.astype(np.float64)).sum()) for one in gradient.values()))
        assert norms[sample] == pytest.approx(length, rel=1e-5)
        assert set(gradient) == set(own)


def gradient_of(of: Specimen, sample: int) -> dict[str, Any]:
    place = Placement()
    weights = place.weights(of.at)
    leaves = {name: weights[name].requires_grad_() for name in towards(of).unit}
    model = of.model
    losses = model.whole(weights, of.batch) if isinstance(model, BatchModel) else model.losses(weights, of.batch)
    found = torch.autograd.grad(losses[sample], list(leaves.values()), materialize_grads=True)
    return {name: one.numpy() for name, one in zip(leaves, found, strict=True)}


@pytest.mark.parametrize("name", ZOO)
def test_mapped_gradients_say_the_same_the_long_way(name: str) -> None:
    of = ZOO[name]()
    place = Placement(precision="float64")
    with deterministic():
        slopes = gradient_slopes(
            of.model,
            place.weights(of.at),
            place.weights(towards(of).unit),
            place.batch(of.batch),
            BatchPortions(1 << 14),
        )
    assert apart(-slopes.numpy(), by_gradients(of)[1]) <= 1e-10


def test_a_step_towards_the_reference_lowers_the_loss_of_samples_with_positive_scores() -> None:
    of = linear_head()
    said, unit = scored(of), towards(of).unit
    moved = {name: of.at[name] + np.float32(1e-3) * unit[name] for name in of.at}
    after = MimicScorer(of.model, moved, towards(of))(of.batch)
    assert (np.sign(said.loss - after.loss) == np.sign(said.score)).all()


def test_losses_of_a_pair_take_the_whole_batch() -> None:
    of = pair()
    alone = MimicScorer(of.model, of.at, towards(of))(tuple(one[:3] for one in of.batch))
    assert not np.allclose(alone.loss, scored(of).loss[:3])


def test_a_sample_that_is_no_number_spoils_no_other() -> None:
    of = linear_head()
    spoilt = of.batch[0].clone()
    spoilt[2] = torch.nan
    said = MimicScorer(of.model, of.at, towards(of))((spoilt, of.batch[1]))
    assert np.isnan(said.score).tolist() == [False, False, True, False, False, False]
    assert np.isnan(said.loss).tolist() == np.isnan(said.score).tolist()
    assert said.score[[0, 1, 3, 4, 5]] == pytest.approx(scored(of).score[[0, 1, 3, 4, 5]], rel=1e-6)


def test_memory_that_ends_halves_the_portions() -> None:
    of = language_model(count=8)
    expected = scored(of)
    tried: list[int] = []

    def losses(weights: Any, batch: Any) -> Any:
        tried.append(len(batch[0]))
        if len(batch[0]) > 3:
            torch.empty(1 << 60)  # PyTorch's own words for a machine without that much memory
        return of.model.losses(weights, batch) if isinstance(of.model, SampleModel) else None

    scorer = MimicScorer(SampleModel(losses), of.at, towards(of))
    assert apart(scorer(of.batch).score, expected.score) <= TOLERANCE["float32"]
    assert tried[2:] == [8, 4, 2, 2, 2, 2]  # after the two calls that measure what a sample takes
    tried.clear()
    scorer(of.batch)
    assert tried == [2, 2, 2, 2]


def test_a_single_sample_that_does_not_fit_is_one_line() -> None:
    of = linear_head()

    def losses(weights: Any, batch: Any) -> Any:
        return torch.empty(1 << 60)

    with pytest.raises(ScoreError, match="out of memory while scoring one sample"):
        MimicScorer(SampleModel(losses), of.at, towards(of))(of.batch)


def test_scoring_leaves_pytorch_as_it_was() -> None:
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads(), torch.is_grad_enabled()
    scored(linear_head())
    assert (torch.are_deterministic_algorithms_enabled(), torch.get_num_threads(), torch.is_grad_enabled()) == before
    assert torch.backends.mha.get_fastpath_enabled()
