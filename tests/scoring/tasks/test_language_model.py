"""Texts: what is read as tokens, what is refused, and what the loss of each is."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, ThesePaths
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.exact import TOLERANCE
from winnow.scoring.protocol import NO_INPUT, OK, TOO_LONG, UNREADABLE, Method, TrainingSettings, Weights
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.language_model import TASK, LanguageModel, LanguageModelConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.runtime import TorchRuntime

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = LanguageModelConfig(network=Size(8, 1, 2), max_tokens=100)
TEXTS = ["a", "häuser", "the quick brown fox " * 4, "x" * 40, "short", "中文"]


def loaded(config: LanguageModelConfig = CONFIG) -> LanguageModel:
    found = TASK.load(config, ThesePaths() if config.tokenizer != "bytes" else NoFiles())
    assert isinstance(found, LanguageModel)
    return found


def rows(texts: Sequence[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"text": pa.array(texts, pa.string())})


def moved(weights: Weights, by: float = 0.1) -> Weights:
    generator = np.random.default_rng(1)
    return {
        name: (value + by * generator.standard_normal(value.shape)).astype(value.dtype)
        for name, value in weights.items()
    }


def words_file(folder: Path, **model: Any) -> str:
    """A tokenizer of three words and what is none of them, that would cut and fill up by itself."""
    said: dict[str, Any] = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"?": 0, "one": 1, "two": 2, "<s>": 5}, "unk_token": "?", **model},
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(said))
    return str(path)


def test_it_is_found_by_its_name() -> None:
    assert find_task("language_model") is TASK


def test_a_text_is_its_bytes_behind_the_token_that_ends_documents() -> None:
    found = loaded().encode(rows(["ab", None, "", "ü\0"]))
    assert list(found.status) == [OK, NO_INPUT, NO_INPUT, OK]
    assert [found.examples.tokens.one(place).tolist() for place in range(2)] == [[0, 97, 98], [0, 195, 188, 32]]


def test_without_a_token_before_it_the_first_is_not_predicted() -> None:
    found = loaded(replace(CONFIG, start="")).encode(rows(["ab", "a"]))
    assert list(found.status) == [OK, NO_INPUT]


def test_a_long_text_is_cut_or_refused() -> None:
    texts = rows(["x" * 100, "x" * 101])
    assert loaded().encode(texts).examples.tokens.lengths.tolist() == [101, 101]
    assert list(loaded(replace(CONFIG, longer="refuse")).encode(texts).status) == [OK, TOO_LONG]


def test_a_tokenizer_reads_no_more_than_the_budget() -> None:
    texts = rows(["ü" * 10])
    cut, refused = (loaded(replace(CONFIG, max_bytes=5, longer=longer)).encode(texts) for longer in ("cut", "refuse"))
    assert cut.examples.tokens.lengths.tolist() == [1 + 4]
    assert list(refused.status) == [TOO_LONG]


def test_the_loss_is_the_mean_over_the_texts_tokens() -> None:
    task = loaded()
    weights = task.initial(0)
    whole = task.losses(weights, task.encode(rows(["abc"])).examples)[0]
    with torch.no_grad():
        said: Any = task.network.forward(
            {k: torch.from_numpy(v) for k, v in weights.items()}, torch.tensor([[0, 97, 98]])
        )
    expected = torch.nn.functional.cross_entropy(said[0], torch.tensor([97, 98, 99]))
    assert whole == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("architecture", ["decoder", f"{SAMPLES}:user_language_model"])
def test_a_row_is_worth_the_same_whatever_stands_beside_it(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture))
    at = task.initial(0)
    scorer = task.scorer(at, moved(at), ("*",))
    examples = task.encode(rows(TEXTS)).examples
    together = scorer(examples)
    alone = [scorer(task.encode(rows([text])).examples) for text in TEXTS]
    np.testing.assert_allclose(together.loss, [one.loss[0] for one in alone], rtol=1e-6)
    np.testing.assert_allclose(together.score, [one.score[0] for one in alone], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("architecture", ["decoder", f"{SAMPLES}:user_language_model"])
def test_the_score_is_the_slope_towards_the_reference(architecture: str) -> None:
    task = loaded(replace(CONFIG, architecture=architecture, running=TorchRuntime(compute="float64")))
    at = task.initial(0)
    reference = moved(at)
    examples = task.encode(rows(TEXTS)).examples
    norm = np.sqrt(sum(((reference[name] - at[name]) ** 2).sum() for name in at))
    ahead, behind = (
        task.losses({n: v + sign * 1e-5 / norm * (reference[n] - v) for n, v in at.items()}, examples)
        for sign in (1, -1)
    )
    score = task.scorer(at, reference, ("*",))(examples).score
    np.testing.assert_allclose(score, -(ahead - behind) / 2e-5, rtol=1e-5, atol=1e-7)


def test_tokens_may_be_those_of_a_file(tmp_path: Path) -> None:
    path = words_file(tmp_path)
    config = replace(CONFIG, tokenizer=path, start="<s>")
    assert TASK.files(config) == (path,)
    task = loaded(config)
    found = task.encode(rows(["one two three", "two"]))
    assert [found.examples.tokens.one(place).tolist() for place in range(2)] == [[5, 1, 2, 0], [5, 2]]
    assert np.isfinite(task.losses(task.initial(0), found.examples)).all()


def test_a_text_that_the_tokenizer_refuses_is_unreadable_and_others_are_read(tmp_path: Path) -> None:
    task = loaded(replace(CONFIG, tokenizer=words_file(tmp_path, unk_token="nowhere"), start="<s>"))
    found = task.encode(rows(["one", "three", "two"]))
    assert list(found.status) == [OK, UNREADABLE, OK]
    assert found.examples.tokens.lengths.tolist() == [2, 2]


def test_no_batch_is_wider_than_what_the_model_reads() -> None:
    task = loaded(replace(CONFIG, max_tokens=35))
    examples = task.encode(rows(["x" * 34, "x" * 35, "x" * 90, "y"])).examples
    assert {task.batch(task.chosen(examples, group))[0].shape[1] for group in task.groups(examples)} == {33, 36}
    assert np.isfinite(task.losses(task.initial(0), examples)).all()


@pytest.mark.parametrize("cosine", [False, True])
def test_less_precision_is_near(cosine: bool) -> None:
    at = loaded().initial(0)
    found = []
    for compute in ("float32", "bfloat16"):
        task = loaded(replace(CONFIG, running=TorchRuntime(compute=compute)))
        found.append(task.scorer(at, moved(at), ("*",), cosine=cosine)(task.encode(rows(TEXTS)).examples).score)
    assert found[0].tolist() != found[1].tolist()
    np.testing.assert_allclose(found[0], found[1], atol=0.05 * np.abs(found[0]).max())


def test_bytes_need_no_file() -> None:
    assert TASK.files(CONFIG) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("[]", "not a tokenizer, or a damaged one"),
        ('{"model": 3}', "not a tokenizer, or a damaged one"),
        ("\udcff", "not a tokenizer, or a damaged one"),
    ],
)
def test_what_is_no_tokenizer_is_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScoreError, match=message) as found:
        loaded(replace(CONFIG, tokenizer=str(path)))
    assert "\n" not in str(found.value)


def test_a_token_that_the_file_does_not_list_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="no token 'end'"):
        loaded(replace(CONFIG, tokenizer=words_file(tmp_path)))
    with pytest.raises(ScoreError, match="bytes have no token '<s>'"):
        loaded(replace(CONFIG, start="<s>"))


def test_a_model_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    path = words_file(tmp_path, vocab={"?": 0, "far": 300})
    config = replace(CONFIG, tokenizer=path, start="", architecture=f"{SAMPLES}:user_language_model")
    with pytest.raises(ScoreError, match=r"\(1, 100, 256\); expected \(1, 100, 301\), or more of the last"):
        loaded(config)


def test_a_vocabulary_may_be_filled_up(tmp_path: Path) -> None:
    path = words_file(tmp_path)
    task = loaded(replace(CONFIG, tokenizer=path, start="<s>", architecture=f"{SAMPLES}:user_language_model"))
    assert np.isfinite(task.losses(task.initial(0), task.encode(rows(["one two"])).examples)).all()


def test_a_trained_one_expects_what_it_was_trained_on() -> None:
    task = loaded()
    clean = task.encode(rows(["abababab" * 4] * 8)).examples
    settings = TrainingSettings(epochs=20, batch=4, learning_rate=0.01)
    *_, last = task.train(clean, 8, settings, None, None)
    other = task.encode(rows(["abababab" * 4, "zqxjzqxj" * 4])).examples
    known, unknown = task.losses(last.weights, other)
    assert known < 1 < unknown
    scores = task.scorer(task.initial(0), last.weights, ("*",))(other).score
    assert scores[0] > scores[1]


@pytest.mark.parametrize("function", ["looking_ahead", "looking_ahead_in_time"])
def test_a_model_that_looks_forward_is_refused_before_any_text_is_read(function: str) -> None:
    with pytest.raises(ScoreError, match="the output for a token depends on the next one") as found:
        loaded(replace(CONFIG, architecture=f"{SAMPLES}:{function}"))
    assert "\n" not in str(found.value)


def windows_by_hand(task: LanguageModel, at: Weights, text: str, size: int) -> tuple[list[float], list[int]]:
    """The losses of a text's windows, each of which begins with the last byte of the one before it."""
    held = {name: torch.from_numpy(value) for name, value in at.items()}
    raw = [0, *text.encode()]
    losses, counts = [], []
    for start in range(0, len(raw) - 1, size):
        part = torch.tensor([raw[start : start + size + 1]])
        said = task.network.forward(held, part[:, :-1]).double()
        losses.append(float(torch.nn.functional.cross_entropy(said[0], part[0, 1:])))
        counts.append(part.shape[1] - 1)
    return losses, counts


def test_the_windows_of_a_long_text_give_its_mean_or_its_largest() -> None:
    size = CONFIG.max_tokens
    texts = ["a" * size, "b" + "xyz" * size, "c", "longer " * size]
    found = {}
    for longer in ("mean", "max"):
        task = loaded(replace(CONFIG, longer=longer, running=TorchRuntime(compute="float64")))
        at = task.initial(0)
        examples = task.encode(rows(texts)).examples
        by_hand = [windows_by_hand(task, at, text, size) for text in texts]
        wanted = [np.average(losses, weights=counts) if longer == "mean" else max(losses) for losses, counts in by_hand]
        np.testing.assert_allclose(task.losses(at, examples), wanted, rtol=1e-9)
        (found[longer],) = task.scorers([at], moved(at), ("*",))(examples)
        np.testing.assert_allclose(found[longer].loss, wanted, rtol=1e-9)
    cut = loaded(replace(CONFIG, running=TorchRuntime(compute="float64")))
    examples = cut.encode(rows(texts)).examples
    first = cut.scorer(cut.initial(0), moved(cut.initial(0)), ("*",))(examples)
    np.testing.assert_allclose(found["mean"].score[[0, 2]], first.score[[0, 2]], rtol=1e-9)  # of one window each
    assert abs(found["mean"].score[1] - first.score[1]) > 1e-9


@pytest.mark.parametrize("compute", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("cosine", [False, True])
def test_texts_end_to_end_have_the_losses_and_scores_of_texts_that_are_filled_up(
    compute: Literal["float64", "float32", "bfloat16"], cosine: bool
) -> None:
    tolerance = TOLERANCE[compute]
    plain, packed = (
        loaded(replace(CONFIG, packed=one, network=Size(16, 2, 2), running=TorchRuntime(compute=compute)))
        for one in (False, True)
    )
    at = moved(plain.initial(0))
    examples = plain.encode(rows(TEXTS)).examples
    found = [
        (task.scorer(at, moved(at), ("*",), cosine=cosine)(examples), task.losses(at, examples))
        for task in (plain, packed)
    ]
    (ours, losses), (theirs, expected) = found[1], found[0]
    assert np.abs(ours.loss - theirs.loss).max() <= tolerance * np.abs(theirs.loss).max()
    assert np.abs(ours.score - theirs.score).max() <= tolerance * np.abs(theirs.score).max()
    np.testing.assert_allclose(losses, expected, rtol=tolerance)


@pytest.mark.parametrize("method", ["uniform", "mimic", "grand", "rho"])
def test_trainings_of_texts_end_to_end_are_those_of_texts_that_are_filled_up(method: Method) -> None:
    ends = []
    for packed in (False, True):
        task = loaded(replace(CONFIG, packed=packed, running=TorchRuntime(compute="float64")))
        settings = TrainingSettings(epochs=2, batch=4, learning_rate=0.01, method=method)
        examples = task.encode(rows(TEXTS)).examples
        (last,) = task.train(examples, len(TEXTS), settings, moved(task.initial(3)), None)
        ends.append(last.weights)
    for name, wanted in ends[0].items():
        np.testing.assert_allclose(ends[1][name], wanted, rtol=1e-8, atol=1e-11)


def test_modules_of_users_are_not_packed() -> None:
    with pytest.raises(ScoreError, match="`packed` is for the architecture decoder") as error:
        loaded(replace(CONFIG, packed=True, architecture=f"{SAMPLES}:user_language_model"))
    assert "\n" not in str(error.value)


def test_trainings_read_the_first_window() -> None:
    texts = ["longer " * CONFIG.max_tokens, "a"]
    ends = []
    for longer in ("cut", "mean"):
        task = loaded(replace(CONFIG, longer=longer))
        examples = task.encode(rows(texts)).examples
        (last,) = task.train(examples, 2, TrainingSettings(epochs=2, batch=2), None, None)
        ends.append(last.weights)
    assert all(ends[0][name].tobytes() == ends[1][name].tobytes() for name in ends[0])
