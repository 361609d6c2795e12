"""Images with captions: batches as declared, and losses that depend on them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, noise, plain, squares
from winnow.pipelines.score.trace import WeightTracer
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.models import BatchModel
from winnow.scoring.protocol import ALONE, NO_INPUT, NOT_FINITE, OK, TOO_LONG, TrainingSettings, Weights
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.pairs import TASK, Pairs, PairsConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.runtime import TorchRuntime

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = PairsConfig(network=Size(8, 1, 2), size=16, patch=8, max_tokens=12, batch=4)
ARCHITECTURES = ("towers", f"{SAMPLES}:user_pair")


def loaded(config: PairsConfig = CONFIG) -> Pairs:
    found = TASK.load(config, NoFiles())
    assert isinstance(found, Pairs)
    return found


def rows(images: Sequence[bytes | None], captions: Sequence[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"image": squares(images), "text": pa.array(captions, pa.string())})


def some(task: Pairs, count: int) -> Any:
    found = task.encode(rows([noise(seed) for seed in range(count)], [f"caption {seed}" for seed in range(count)]))
    assert found.count == count
    return found.examples


def moved(weights: Weights, by: float = 0.1) -> Weights:
    generator = np.random.default_rng(1)
    return {
        name: (value + by * generator.standard_normal(value.shape)).astype(value.dtype)
        for name, value in weights.items()
    }


def test_it_is_found_by_its_name() -> None:
    assert find_task("pairs") is TASK


def test_the_caption_of_a_list_is_its_first() -> None:
    structs = [[{"text": "a", "origin": "source"}, {"text": "b", "origin": "alt"}], [], None]
    for captions in (structs, [["a", "b"], [], None]):
        column = pa.array(captions)
        found = loaded().encode(pa.record_batch({"image": squares([noise(seed) for seed in range(3)]), "text": column}))
        assert list(found.status) == [OK, NO_INPUT, NO_INPUT]
        assert found.examples.tokens.one(0).tolist() == [97]
    with pytest.raises(ScoreError, match="caption text is of type list<item: int64>; expected strings, or lists"):
        loaded().encode(pa.record_batch({"image": squares([noise(0)]), "text": [[1]]}))


def test_a_batch_of_more_images_than_may_be_held_is_one_line() -> None:
    with pytest.raises(ScoreError) as error:
        loaded(replace(CONFIG, size=4096, batch=8))
    assert str(error.value) == (
        "pairs: `batch`: 8 images of 4,096 pixels a side take 402,653,184 bytes, more than `memory_bytes`: "
        "268,435,456; lower `size` or `batch`, or give more `memory_bytes`"
    )


def test_each_row_says_why_it_has_no_example() -> None:
    images = [plain((9, 9, 9)), None, plain((9, 9, 9)), plain((9, 9, 9)), b"no image"]
    found = loaded().encode(rows(images, ["a", "b", None, "", "e"]))
    assert list(found.status) == [OK, NO_INPUT, NO_INPUT, NO_INPUT, NO_INPUT]
    assert found.examples.tokens.one(0).tolist() == [97]


def test_the_caption_may_be_another_column() -> None:
    task = loaded(replace(CONFIG, caption="extract.main.title"))
    assert task.reads == ("image", "extract.main.title")
    assert task.encode(pa.record_batch({"image": squares([noise(0)]), "extract.main.title": ["a"]})).count == 1


def test_a_long_caption_is_cut_before_its_end_or_refused() -> None:
    texts = rows([noise(0), noise(1)], ["x" * 20, "x" * 10])
    config = replace(CONFIG, start="end", end="end")
    cut = loaded(config).encode(texts).examples.tokens
    assert cut.lengths.tolist() == [12, 12]
    assert [int(cut.one(place)[-1]) for place in range(2)] == [0, 0]
    assert list(loaded(replace(config, longer="refuse")).encode(texts).status) == [TOO_LONG, OK]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_is_the_mean_of_both_ways_over_the_declared_batch(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture))
    at = task.initial(0)
    examples = some(task, 3)
    with torch.no_grad():
        parameters = {name: torch.from_numpy(value) for name, value in at.items()}
        assert isinstance(task.model, BatchModel)
        images, texts = task.model.embed(parameters, task.batch(examples))
    logits = np.exp(at["logit_scale"]) * (images @ texts.T).numpy().astype(np.float64)
    ways = [-np.log(np.exp(np.diag(logits)) / np.exp(logits).sum(axis)) for axis in (1, 0)]
    np.testing.assert_allclose(task.losses(at, examples), (ways[0] + ways[1]) / 2, rtol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_row_is_contrasted_with_companions_of_another_picture_and_caption(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture, running=TorchRuntime(compute="float64")))
    at = task.initial(0)
    nine = task.encode(rows([noise(seed) for seed in (*range(7), 1, 8)], [*"abcdefg", "x", "c"])).examples
    among = task.among(task.companions(task.chosen(nine, np.arange(4))))

    def in_batch(place: int, others: Sequence[int]) -> float:
        return float(task.losses(at, task.chosen(nine, np.array([place, *others])))[0])

    companions = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], *[[0, 1, 2]] * 3, [0, 2, 3], [0, 1, 3]]
    wanted = [in_batch(place, others) for place, others in enumerate(companions)]
    assert task.companion_count == 4
    np.testing.assert_allclose(among.losses(at, nine), wanted, rtol=1e-9)
    scores = among.scorer(at, moved(at), ("*",))(nine)
    np.testing.assert_allclose(scores.loss, wanted, rtol=1e-9)
    for order in (np.arange(9)[::-1], np.array([4, 7, 4])):
        again = among.scorer(at, moved(at), ("*",))(task.chosen(nine, order))
        np.testing.assert_allclose(again.score, scores.score[order], rtol=1e-9)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_alignment_is_the_cosine_of_a_pair_whatever_its_companions(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture))
    at, examples = task.initial(0), some(task, 9)
    assert isinstance(task.model, BatchModel)
    with torch.no_grad():
        images, texts = task.model.embed({n: torch.from_numpy(v) for n, v in at.items()}, task.batch(examples))
    expected = torch.nn.functional.cosine_similarity(images, texts).numpy()
    np.testing.assert_allclose(task.alignments(at, examples), expected, rtol=1e-5, atol=1e-6)
    for companions in (np.array([0, 1, 2, 3]), np.array([5, 8])):
        among = task.among(task.companions(task.chosen(examples, companions)))
        np.testing.assert_allclose(among.alignments(at, examples), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1])
def test_without_another_companion_there_is_no_loss(count: int) -> None:
    task = loaded()
    at, one = task.initial(0), some(task, 1)
    among = task.among(task.companions(task.chosen(one, np.arange(count))))
    found = among.scorer(at, moved(at), ("*",))(one)
    assert [*np.isnan(found.loss), *np.isnan(found.score), *np.isnan(among.losses(at, one))] == [True] * 3


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("globs", [("*",), ("image.*",), ("logit_scale", "text*")])
def test_the_score_is_the_slope_towards_the_reference(architecture: str, globs: tuple[str, ...]) -> None:
    task = loaded(replace(CONFIG, architecture=architecture, running=TorchRuntime(compute="float64")))
    task = task.among(task.companions(some(task, 4)))
    at = task.initial(0)
    reference = moved(at)
    names = [n for n in at if any(glob == "*" or n.startswith(glob.rstrip("*")) for glob in globs)]
    norm = np.sqrt(sum(((reference[name] - at[name]) ** 2).sum() for name in names))
    ahead, behind = (
        task.losses(
            {n: v + sign * 1e-5 / norm * (reference[n] - v) if n in names else v for n, v in at.items()}, some(task, 6)
        )
        for sign in (1, -1)
    )
    score = task.scorer(at, reference, globs)(some(task, 6)).score
    np.testing.assert_allclose(score, -(ahead - behind) / 2e-5, rtol=1e-5, atol=1e-7)


def test_pairs_of_one_caption_are_alone_and_those_of_a_broken_picture_are_not() -> None:
    task = loaded()
    at = task.initial(0)
    alike = task.encode(rows([noise(seed) for seed in range(5)], ["one and the same"] * 5)).examples
    among = task.among(task.companions(task.chosen(alike, np.arange(4))))
    tracer = WeightTracer(among, among.scorers((at,), moved(at), ("*",)), at, 1)
    values = tracer.values(alike)
    assert np.isnan(values[:, :-1]).all()
    assert np.isfinite(values[:, -1]).all()
    assert set(tracer.unscored(values)) == {ALONE}
    assert set(tracer.unscored(np.full_like(values, np.nan))) == {NOT_FINITE}


def test_how_much_is_embedded_at_once_does_not_matter() -> None:
    at = loaded().initial(0)
    whole, cut = (
        (lambda task: task.scorer(at, moved(at), ("*",))(some(task, 4)).score)(loaded(replace(CONFIG, running=running)))
        for running in (TorchRuntime(), TorchRuntime(memory_bytes=64))
    )
    np.testing.assert_allclose(whole, cut, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cosine", [False, True])
def test_a_pair_without_a_finite_embedding_has_no_score_and_is_no_companion(cosine: bool) -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:user_pair"))
    at = task.initial(0)
    at = {**at, "text.weight": at["text.weight"].copy()}
    at["text.weight"][ord("~")] = 3e38
    examples = task.encode(rows([noise(seed) for seed in range(4)], ["a", "~~", "c", "d"])).examples
    globs, sound = ("image.*",), np.array([0, 2, 3])
    found = task.among(task.companions(examples)).scorer(at, moved(at), globs, cosine=cosine)(examples)
    without = task.among(task.companions(task.chosen(examples, sound)))
    rest = task.chosen(examples, sound)
    expected = without.scorer(at, moved(at), globs, cosine=cosine)(rest)
    assert np.isnan(found.score).tolist() == np.isnan(found.loss).tolist() == [False, True, False, False]
    np.testing.assert_allclose(found.score[sound], expected.score, rtol=1e-5)
    np.testing.assert_allclose(found.loss[sound], without.losses(at, rest), rtol=1e-5)


def test_the_cosine_is_within_one() -> None:
    task = loaded()
    at = task.initial(0)
    cosine = task.scorer(at, moved(at), ("*",), cosine=True)(some(task, 4)).score
    assert (np.abs(cosine) <= 1).all()


@pytest.mark.parametrize("method", ["uniform", "mimic", "grand", "rho"])
def test_it_is_trained_by_every_method_whatever_is_left_for_the_last_batch(method: Any) -> None:
    task = loaded()
    settings = TrainingSettings(method=method, epochs=2, batch=4, learning_rate=0.01, keep=9)
    found = list(task.train(some(task, 5), 5, settings, moved(task.initial(0)), None))
    assert [one.step for one in found] == [1, 2, 3, 4]
    assert all(np.isfinite(value).all() for one in found for value in one.weights.values())


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        (f"{SAMPLES}:user_classifier", "made a Sequential without `encode_image`"),
        (f"{SAMPLES}:nothing", "cannot be called"),
    ],
)
def test_what_is_no_pair_of_encoders_is_one_line(architecture: str, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        loaded(replace(CONFIG, architecture=architecture))


@pytest.mark.parametrize("nowhere", [0.0, 1e-30, 1e30], ids=["zero", "nearly", "too large to be measured"])
def test_so_does_a_pair_whose_embedding_points_nowhere(nowhere: float) -> None:
    task = loaded(replace(CONFIG, architecture=f"{SAMPLES}:user_pair"))
    at = task.initial(0)
    at = {**at, "text.weight": at["text.weight"].copy()}
    at["text.weight"][0] = 0.0  # what fills up
    reference = moved(at)
    at["text.weight"][ord("z")] = nowhere
    examples = task.encode(rows([noise(seed) for seed in range(4)], "azcd")).examples
    among, sound, globs = task.among(task.companions(examples)), np.array([0, 2, 3]), ("image.*", "logit_scale")
    found = among.scorer(at, reference, globs)(examples)
    without = task.among(task.companions(task.chosen(examples, sound)))
    expected = without.scorer(at, reference, globs)(task.chosen(examples, sound))
    assert np.isnan(found.score).tolist() == np.isnan(found.loss).tolist() == [False, True, False, False]
    np.testing.assert_allclose(found.score[sound], expected.score, rtol=1e-5)
    at["text.weight"][ord("z")] = reference["text.weight"][ord("z")] / 1e20
    score = among.scorer(at, reference, ("*",))(examples).score
    assert np.abs(score[sound]).max() < 1e3


def test_a_batch_whose_similarities_alone_are_too_large_is_refused_before_any_row_is_read() -> None:
    with pytest.raises(ScoreError, match=r"`batch`: .* 1,024 pairs take 4,194,304 bytes, .* `memory_bytes`: 4,194,303"):
        loaded(replace(CONFIG, batch=1024, running=TorchRuntime(memory_bytes=(1 << 22) - 1)))


@pytest.mark.parametrize("cosine", [False, True])
def test_where_memory_ends_on_the_losses_of_a_batch_a_smaller_one_is_asked_for(cosine: bool) -> None:
    task = loaded()
    model = task.model
    assert isinstance(model, BatchModel)
    task.model = BatchModel(model.embed, lambda _, __: torch.empty(1 << 60))
    at, expected = task.initial(0), "out of memory on the losses of a batch of 4 pairs; lower `batch`"
    with pytest.raises(ScoreError, match=expected):
        task.losses(at, some(task, 4))
    with pytest.raises(ScoreError, match=expected):
        task.scorer(at, moved(at), ("*",), cosine=cosine)(some(task, 4))


def test_a_width_without_room_for_a_caption_is_refused() -> None:
    with pytest.raises(
        ScoreError, match="`max_tokens`: 2 leaves no room for text between `start` and `end`; expected 3 or more"
    ):
        loaded(replace(CONFIG, max_tokens=2, start="end", end="end"))


def test_a_wrong_token_is_reported_by_the_key_that_names_it() -> None:
    with pytest.raises(ScoreError, match="`end`: bytes have no token '</s>'"):
        loaded(replace(CONFIG, end="</s>"))
    with pytest.raises(ScoreError, match="`start`: bytes have no token '<s>'"):
        loaded(replace(CONFIG, start="<s>"))
