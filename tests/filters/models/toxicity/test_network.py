"""The network: against a plain restatement, and against itself in any company."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.toxicity import restated
from tests.filters.models.toxicity.published import published, published_weights
from tests.property_sizes import scaled
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.toxicity import LABELS, TOKENS, WORDS, Network, Vocabulary
from winnow.schemas.errors import RecipeError

# The examples of the package's own description, as Keras scored them.
EXAMPLE = "You are so dumb and stupid!"
SCORES = {
    "toxic": 0.9889402985572815,
    "severe_toxic": 0.07256772369146347,
    "obscene": 0.620429277420044,
    "threat": 0.01934845559298992,
    "insult": 0.8664075136184692,
    "identity_hate": 0.04072948172688484,
}
MEANS = {
    "I hate you so much!": 0.1395,
    "This is wonderful news.": 0.0013,
    "You're disgusting!": 0.3110,
    "Absolutely love your energy!": 0.0088,
    "You're the worst person ever!": 0.0937,
    "Have a nice day :)": 0.0115,
}
WEIRD = "İSTANBUL Straße ΣΊΣΥΦΟΣ don’t DON'T\u00a0talk the\tthe\nthe\rthe «the» —the — “the 北京the a_b-c @you_me \0the"


@pytest.fixture(scope="module")
def network() -> Network:
    return Network(published())


@pytest.fixture(scope="module")
def weights() -> Mapping[str, npt.NDArray[Any]]:
    return published_weights()


def window(network: Network, text: str) -> npt.NDArray[np.int64]:
    return np.array(restated.padded(restated.sequence(text, network.words)), np.int64)


def windows(count: int, shortest: int = 0) -> npt.NDArray[np.int64]:
    """Windows of all lengths, common words the likeliest, the same ones each time."""
    random = np.random.default_rng(7)
    made = (1 + (WORDS - 1) * random.random((count, TOKENS)) ** 4).astype(np.int64)
    for row, length in enumerate(random.integers(shortest, TOKENS + 1, count)):
        made[row, : TOKENS - length] = 0
    return made


def test_the_packages_own_examples_are_reproduced(network: Network) -> None:
    (found,) = network.score(window(network, EXAMPLE)[None])
    assert dict(zip(LABELS, found.tolist(), strict=True)) == pytest.approx(SCORES, abs=1e-6)
    means = network.score(np.stack([window(network, text) for text in MEANS])).mean(axis=1)
    assert means.tolist() == pytest.approx(list(MEANS.values()), abs=5.1e-5)


def test_scores_are_those_of_the_restatement(network: Network, weights: Mapping[str, npt.NDArray[Any]]) -> None:
    given_ = windows(24)
    expected = np.array([restated.scores(row.tolist(), weights) for row in given_])
    np.testing.assert_allclose(network.score(given_), expected, atol=5e-6)


@pytest.mark.parametrize("text", [WEIRD, "", "  ,,,  ", "THE the The tHe", "a" * 10_000, "the," * 300, "\ud7ff the"])
def test_words_are_numbered_as_keras_numbers_them(network: Network, text: str) -> None:
    found = Vocabulary(network.words).numbered(["you", text, "me"])
    assert found.numbers[found.bounds[1] : found.bounds[2]].tolist() == restated.sequence(text, network.words)


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(st.text(alphabet="tTheEyou -_'’\t\n\r\u00a0İßΣσ—北\0", max_size=40), max_size=5))
def test_words_of_any_texts_are_numbered_as_keras_numbers_them(network: Network, texts: list[str]) -> None:
    found = Vocabulary(network.words).numbered(texts)
    for row, text in enumerate(texts):
        numbers = found.numbers[found.bounds[row] : found.bounds[row + 1]].tolist()
        assert numbers == restated.sequence(text, network.words)


def test_no_window_sees_another(network: Network) -> None:
    given_ = windows(18)
    whole = network.score(given_)
    for cut in (1, 2, 3, 5, 8, 17):
        parts = [network.score(given_[at : at + cut]) for at in range(0, len(given_), cut)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(network.score(given_[::-1])[::-1], whole)


def test_windows_of_extremes_have_finite_scores(network: Network) -> None:
    given_ = np.zeros((3, TOKENS), np.int64)
    given_[1] = WORDS - 1
    given_[2] = np.arange(TOKENS)
    assert np.isfinite(network.score(given_)).all()
    assert network.score(given_[:0]).shape == (0, 6)


def test_a_file_that_is_not_the_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.onnx"
    graph = OnnxGraph("other")
    graph.output(graph.node("Identity", graph.input("windows", ("n", 100))), ("n", 100))
    path.write_bytes(graph.to_bytes({"words": "a\nb"}))
    with pytest.raises(RecipeError, match="2 words; expected 19,999; fetch it again"):
        Network(str(path))
