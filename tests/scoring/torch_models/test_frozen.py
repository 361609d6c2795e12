"""Heads over what frozen networks make of texts and of images; real networks where their files have been fetched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, ThesePaths, noise, plain, squares
from winnow.pipelines.assets import AssetFiles, find_asset, state_of
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import Task, TrainingSettings
from winnow.scoring.tasks.linear_head import TASK, LinearHead, LinearHeadConfig
from winnow.scoring.torch_models import conse, efficientnet, frozen, minilm
from winnow.scoring.torch_models.examples import Ragged
from winnow.scoring.torch_models.files import read_checkpoint, read_safetensors
from winnow.scoring.torch_models.runtime import TorchRuntime
from winnow.scoring.torch_models.tokens import tokenizer_of

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

TEXTS = LinearHeadConfig(label="kind", labels=("kitchen", "code"), features="minilm")
IMAGES = LinearHeadConfig(label="kind", labels=("plain", "noise"), features="efficientnet")
NEEDED = sorted({asset.name for kind in frozen.KINDS.values() for asset in kind.assets})
fetched = pytest.mark.skipif(
    any(state_of(find_asset(name)) != "present" for name in NEEDED),
    reason=f"needs: winnow assets fetch {' '.join(NEEDED)}",
)

KITCHEN = (
    "Chop the onions finely and fry them in butter until they are golden.",
    "Leave the dough under a damp cloth for an hour, or until it has doubled.",
    "A pinch of salt brings out the sweetness of ripe tomatoes.",
    "Roast the chicken for ninety minutes and let it rest before you carve it.",
    "Whisk the egg whites to stiff peaks, then fold them into the chocolate.",
    "Rinse the rice under cold water and let it soak before it is steamed.",
    "Grate the lemon zest over the fish, and serve it with potatoes.",
    "Simmer the sauce over a low heat, stirring now and then.",
    "This soup is better on the second day, with bread and a little cheese.",
)
CODE = (
    "The function returns a pointer to the first element of the array.",
    "Run the tests before you merge a branch into the main one.",
    "An index on that column makes the query a hundred times faster.",
    "The compiler warns of a variable that is never read.",
    "Two threads that write to one variable need a lock.",
    "The program crashes with an exception when the file is empty.",
    "Declare the class in a header, and its methods in a source file.",
    "Catch the exception where you can do something about it, not before.",
    "Each thread holds a lock while it writes to the queue.",
)


def rows(reads: str, given: Sequence[Any], kinds: Sequence[str | None]) -> pa.RecordBatch:
    """Rows of texts, or of pictures that files give."""
    column = squares(given, efficientnet.SIDE) if reads == "image" else pa.array(given)
    return pa.record_batch({reads: column, "kind": pa.array(kinds, pa.string())})


def loaded(config: LinearHeadConfig) -> Task:
    found = TASK.load(config, AssetFiles())
    assert isinstance(found, LinearHead)
    return found


@pytest.fixture(scope="module")
def texts() -> Task:
    return loaded(TEXTS)


@pytest.fixture(scope="module")
def images() -> Task:
    return loaded(IMAGES)


def tensors(arrays: Any) -> dict[str, Any]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def test_what_is_read_and_needed_is_known_before_it_is_loaded() -> None:
    assert TASK.reads(TEXTS) == ("text", "kind")
    assert TASK.reads(IMAGES) == ("image", "kind")
    assert TASK.files(TEXTS) == ("minilm-l6", "minilm-l6.tokenizer")
    assert TASK.files(IMAGES) == ("efficientnet-lite0",)
    assert [one.partition(" ")[0] for one in TASK.depends(TEXTS)] == ["torch", "tokenizers", "numpy"]
    assert [one.partition(" ")[0] for one in TASK.depends(IMAGES)] == ["torch", "numpy"]


def test_an_encoders_head_is_trained_as_the_papers() -> None:
    assert TASK.training(TEXTS) == TASK.training(IMAGES) == TrainingSettings()
    assert TASK.training(TEXTS).learning_rate == 1e-4
    assert TASK.training(replace(TEXTS, features="hashed")).learning_rate == 1e-2


def test_a_configuration_is_refused_before_a_file_is_looked_for() -> None:
    with pytest.raises(ScoreError, match="task linear_head: labels a: expected at least two different ones"):
        TASK.load(replace(TEXTS, labels=("a",)), NoFiles())


def test_a_file_that_holds_another_network_is_refused_in_a_line(tmp_path: Path) -> None:
    package: Any = pytest.importorskip("safetensors.torch", reason="needs the extra `torch`")
    path = tmp_path / "other.safetensors"
    package.save_file({"embeddings.LayerNorm.weight": torch.ones(384)}, path)
    tokenizer = tmp_path / "tokenizer.json"
    words: Any = pytest.importorskip("tokenizers", reason="needs the extra `torch`")
    vocabulary = {"[UNK]": 0, minilm.FIRST: 1, minilm.LAST: 2}
    words.Tokenizer(words.models.WordLevel(vocabulary, "[UNK]")).save(str(tokenizer))

    class These(ThesePaths):
        def path(self, name: str) -> str:
            return str(tokenizer if name == conse.TOKENIZER else path)

    with pytest.raises(ScoreError, match=r"other.safetensors: these weights do not fit this model: missing .*more$"):
        TASK.load(TEXTS, These())


@fetched
def test_a_texts_features_are_the_networks_mean_over_its_tokens(texts: Task) -> None:
    files = AssetFiles()
    tokenizer = tokenizer_of("", files.path(conse.TOKENIZER))
    parameters = tensors(conse.named("", read_safetensors(files.path(conse.SENTENCES))))
    given = [KITCHEN[0], "A longer one. " * 30, "Far longer than that is read. " * 100]
    found = texts.encode(rows("text", given, ["kitchen"] * 3)).examples.features
    assert found.dtype == np.float32
    for text, numbers in zip(given, found, strict=True):
        (tokens,) = tokenizer.of([text])
        assert tokens is not None
        one = Ragged.of([[101, *tokens[:254], 102]])
        with torch.no_grad():
            expected = minilm.mean_embedding(parameters, torch.from_numpy(one.padded(int(one.ends[0]))))
        np.testing.assert_allclose(numbers, expected[0], atol=1e-5)


@fetched
def test_an_images_features_are_those_that_the_classifier_tells_classes_by(images: Task) -> None:
    parameters = tensors(conse.named("", read_checkpoint(AssetFiles().path(conse.CLASSIFIER))))
    files = [noise(0, 224), plain((200, 30, 90), 224)]
    found = images.encode(rows("image", files, ["noise", "plain"])).examples.features
    assert found.shape == (2, 1_280)
    pixels = torch.from_numpy(np.stack([pixels_of_noise(0, 224), np.full((224, 224, 3), (200, 30, 90))]))
    with torch.no_grad():
        given = (pixels.permute(0, 3, 1, 2).float() - 127) / 128
        expected = efficientnet.pooled(parameters, given)
        said = torch.nn.functional.linear(expected, parameters["_fc.weight"], parameters["_fc.bias"])
        torch.testing.assert_close(said, efficientnet.classified(parameters, given))
    np.testing.assert_allclose(found, expected, atol=1e-4)  # a colour's rounding is that of all its pixels


def pixels_of_noise(seed: int, side: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)


@fetched
def test_each_text_says_why_it_has_no_features(texts: Task) -> None:
    long = "word " * 300
    given = ["Salt.", None, "", " \n", long, "Salt.", "Salt."]
    kinds = ["kitchen", "code", "code", "code", "code", None, "garden"]
    statuses = ["ok", "no_input", "no_input", "no_input", "ok", "no_label", "unknown_label"]
    found = texts.encode(rows("text", given, kinds))
    assert found.status.tolist() == statuses
    assert found.count == len(found.examples.features) == 2
    refusing = loaded(replace(TEXTS, longer="refuse", max_bytes=2_000))
    found = refusing.encode(rows("text", [*given, "w" * 2_001], [*kinds, "code"]))
    assert found.status.tolist() == ["ok", *statuses[1:4], "too_long", *statuses[5:], "too_long"]


@fetched
def test_each_image_says_why_it_has_no_features(images: Task) -> None:
    good = plain((9, 9, 9))
    given = [good, None, b"", b"\x89PNG\r\n\x1a\n damaged", good, b"no picture"]
    kinds = ["plain", "plain", "noise", "plain", None, "garden"]
    found = images.encode(rows("image", given, kinds))
    assert found.status.tolist() == ["ok", *["no_input"] * 3, "no_label", "unknown_label"]
    assert found.count == 1


@fetched
def test_features_that_are_no_numbers_are_no_examples(images: Task) -> None:
    network: Any = images._encode._network  # type: ignore[attr-defined]
    before = network._parameters
    network._parameters = {**before, "_bn1.weight": torch.full((1_280,), torch.nan)}
    try:
        found = images.encode(rows("image", [plain((9, 9, 9))], ["plain"]))
    finally:
        network._parameters = before
    assert found.status.tolist() == ["not_finite"]


@fetched
@pytest.mark.parametrize("running", [TorchRuntime(), TorchRuntime(memory_bytes=1)])
def test_a_rows_features_do_not_depend_on_the_batch(running: TorchRuntime) -> None:
    lengths = ["Short.", "word " * 40, KITCHEN[0], "word " * 250, KITCHEN[1]]
    pictures = [noise(seed, 64) for seed in range(3)]
    for config, reads, given in ((TEXTS, "text", lengths), (IMAGES, "image", pictures)):
        task = loaded(replace(config, running=running))
        kinds = [str(config.labels[0])] * len(given)
        whole = task.encode(rows(reads, given, kinds)).examples.features
        apart = [task.encode(rows(reads, [one], kinds[:1])).examples.features[0] for one in given]
        np.testing.assert_allclose(whole, apart, atol=1e-5)
        again = task.encode(rows(reads, given, kinds)).examples.features
        np.testing.assert_array_equal(whole, again)


@fetched
def test_nothing_gives_nothing(texts: Task, images: Task) -> None:
    for task, reads in ((texts, "text"), (images, "image")):
        assert task.encode(rows(reads, [], [])).count == 0


@fetched
def test_a_head_tells_texts_apart_that_it_has_not_seen_and_scores_them(texts: Task) -> None:
    seen = rows("text", [*KITCHEN[:-2], *CODE[:-2]], ["kitchen"] * 7 + ["code"] * 7)
    others = rows("text", [*KITCHEN[-2:], *CODE[-2:]], ["kitchen"] * 2 + ["code"] * 2)
    examples, unseen = texts.encode(seen).examples, texts.encode(others).examples
    settings = replace(TASK.training(TEXTS), epochs=500)
    (reference,) = texts.train(examples, 14, settings, None, None)
    assert (texts.losses(reference.weights, unseen) < np.log(2)).all()
    scores = texts.scorer(texts.initial(0), reference.weights, ("*",))
    right = scores(unseen).score
    assert (right > 0).all()
    wrong = texts.encode(rows("text", others["text"].to_pylist(), ["code"] * 2 + ["kitchen"] * 2)).examples
    assert (scores(wrong).score < 0).all()
    parts = [texts.chosen(unseen, np.array([place])) for place in range(4)]
    np.testing.assert_allclose(scores(texts.joined(parts)).score, right, rtol=1e-5)
