"""What the tasks of PyTorch make of rows, before any network sees them: nothing here needs PyTorch."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, plain, squares
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, NO_LABEL, OK, TOO_LONG, UNKNOWN_LABEL, UNREADABLE, Encoded
from winnow.scoring.tasks import pairs
from winnow.scoring.tasks.alignment import TASK as ALIGNMENT
from winnow.scoring.tasks.alignment import AlignmentConfig
from winnow.scoring.tasks.image_classifier import ImageClassifier, ImageClassifierConfig
from winnow.scoring.tasks.language_model import LanguageModel, LanguageModelConfig
from winnow.scoring.tasks.pairs import Pairs, PairsConfig, captions_of, read_as
from winnow.scoring.torch_models import conse
from winnow.scoring.torch_models.networks import Network
from winnow.scoring.torch_models.runtime import TorchRuntime
from winnow.scoring.torch_models.tokens import Bytes

NETWORK = Network(initial=lambda _: {}, forward=lambda *_: None, shapes={})  # nobody asks it
SIDE = 8
RED, BLUE = plain((255, 0, 0), SIDE), plain((0, 0, 255), SIDE)


class Words(Bytes):
    """Bytes, except that it rejects one word, as files without a token for the unknown do."""

    def of(self, texts: Any) -> Any:
        return [None if text == "?" else tokens for text, tokens in zip(texts, super().of(texts), strict=True)]


def tokens_of(found: Encoded) -> list[list[int]]:
    tokens = found.examples.tokens
    return [tokens.one(place).tolist() for place in range(found.count)]


def language_model(**settings: Any) -> LanguageModel:
    return LanguageModel(LanguageModelConfig(**settings), NETWORK, Words())


def read(task: LanguageModel, *texts: str | None) -> Encoded:
    return task.encode(pa.record_batch({"text": pa.array(texts, pa.string())}))


@pytest.mark.parametrize(
    ("settings", "statuses", "tokens"),
    [
        ({}, [OK, OK, NO_INPUT, NO_INPUT, OK, UNREADABLE], [[0, 97, 98, 99], [0, 97, 98, 99], [0, 97]]),
        ({"longer": "refuse"}, [OK, TOO_LONG, NO_INPUT, NO_INPUT, OK, UNREADABLE], [[0, 97, 98, 99], [0, 97]]),
        (
            {"longer": "mean"},
            [OK, OK, NO_INPUT, NO_INPUT, OK, UNREADABLE],
            [[0, 97, 98, 99], [0, 97, 98, 99, 100], [0, 97]],
        ),
        ({"start": ""}, [OK, OK, NO_INPUT, NO_INPUT, NO_INPUT, UNREADABLE], [[97, 98, 99], [97, 98, 99]]),
        (
            {"max_bytes": 3, "longer": "max"},
            [OK, OK, NO_INPUT, NO_INPUT, OK, UNREADABLE],
            [[0, 97, 98, 99], [0, 97, 98, 99], [0, 97]],
        ),
        (
            {"max_bytes": 3, "longer": "refuse"},
            [OK, TOO_LONG, NO_INPUT, NO_INPUT, OK, UNREADABLE],
            [[0, 97, 98, 99], [0, 97]],
        ),
    ],
)
def test_a_text_with_a_token_to_predict_is_an_example(
    settings: dict[str, Any], statuses: list[str], tokens: list[list[int]]
) -> None:
    found = read(language_model(**({"max_tokens": 3} | settings)), "abc", "abcd", "", None, "a", "?")
    assert (list(found.status), tokens_of(found), found.count) == (statuses, tokens, len(tokens))


def test_a_text_longer_than_the_bytes_that_are_read_is_too_long_whatever_its_tokens() -> None:
    found = read(language_model(longer="refuse", max_bytes=4), "abcd", "abcde")
    assert list(found.status) == [OK, TOO_LONG]


def test_texts_of_about_one_length_share_a_batch() -> None:
    task = language_model(start="", max_tokens=70)
    texts = ["x" * length for length in (66, 2, 49, 50, 33, 65, 34, 70)]
    groups = [group.tolist() for group in task.groups(read(task, *texts).examples)]
    assert groups == [[1, 4], [2, 6], [3, 5], [0, 7]]  # 32, 48, 64 and more tokens to predict
    narrow = language_model(start="", max_tokens=45)
    assert [group.tolist() for group in narrow.groups(read(narrow, "x" * 40, "y" * 45, "zz").examples)] == [[2], [0, 1]]
    assert task.groups(read(task).examples) == []


@pytest.mark.parametrize("longer", ["mean", "max"])
def test_windows_need_a_token_to_predict(longer: str) -> None:
    with pytest.raises(ScoreError, match="`max_tokens`"):
        language_model(start="", max_tokens=1, longer=longer)
    assert language_model(start="end", max_tokens=1, longer=longer).reads == ("text",)
    assert language_model(start="", max_tokens=2, longer=longer).reads == ("text",)
    assert language_model(start="", max_tokens=1).reads == ("text",)


def paired(**settings: Any) -> Pairs:
    given: dict[str, Any] = {"size": SIDE, "start": "end", "end": "end"} | settings
    config = PairsConfig(**given)
    return Pairs(config, read_as("pairs", config, NoFiles()), NETWORK, Words())


def read_pairs(task: Pairs, captions: list[str | None], pictures: list[bytes | None]) -> Encoded:
    return task.encode(
        pa.record_batch({"text": pa.array(captions, pa.string()), "image": squares(pictures, SIDE)}),
    )


def test_a_caption_stands_between_its_special_tokens_and_keeps_them_when_it_is_cut() -> None:
    captions, red = ["ab", "abc", "abcd", "", None, "?"], [RED] * 6
    found = read_pairs(paired(max_tokens=5), captions, [*red])
    assert list(found.status) == [OK, OK, OK, NO_INPUT, NO_INPUT, UNREADABLE]
    assert tokens_of(found) == [[0, 97, 98, 0], [0, 97, 98, 99, 0], [0, 97, 98, 99, 0]]
    refused = read_pairs(paired(max_tokens=5, longer="refuse"), captions, [*red])
    assert list(refused.status) == [OK, OK, TOO_LONG, NO_INPUT, NO_INPUT, UNREADABLE]
    few = read_pairs(paired(max_bytes=3, longer="refuse"), captions, [*red])
    assert list(few.status) == [OK, OK, TOO_LONG, NO_INPUT, NO_INPUT, UNREADABLE]
    bare = read_pairs(paired(max_tokens=3, start="", end=""), captions, [*red])
    assert tokens_of(bare) == [[97, 98], [97, 98, 99], [97, 98, 99]]


def test_a_pair_needs_both_of_its_halves() -> None:
    found = read_pairs(paired(longer="refuse", max_tokens=3), ["a", "b", "ab", "c", None], [RED, None, None, BLUE, RED])
    assert list(found.status) == [OK, NO_INPUT, NO_INPUT, OK, NO_INPUT]
    assert tokens_of(found) == [[0, 97, 0], [0, 99, 0]]
    assert found.examples.pixels[:, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]


def test_special_tokens_leave_room_for_a_text() -> None:
    with pytest.raises(ScoreError, match=r"`max_tokens`: 2 .* 3 "):
        paired(max_tokens=2)
    assert paired(max_tokens=3).side == SIDE
    assert paired(max_tokens=2, end="").reads == ("image", "text")


def test_mismatched_pairs_have_the_caption_of_the_one_before() -> None:
    task = paired(start="", end="")
    examples = read_pairs(task, ["a", "b", "b", "c"], [RED, BLUE, RED, BLUE]).examples
    others: Any
    others, changed = task.mismatched(examples)
    assert [others.tokens.one(place).tolist() for place in range(4)] == [[99], [97], [98], [98]]
    assert changed.tolist() == [True, True, False, True]
    assert others.pixels is examples.pixels
    kept = task.companions(examples)
    assert (kept["tokens"].tolist(), kept["ends"].tolist()) == ([97, 98, 98, 99], [1, 2, 3, 4])
    assert paired(batch=17).companion_count == 17


TOLD = pa.struct([("text", pa.string()), ("kind", pa.string())])


@pytest.mark.parametrize(
    ("values", "kind", "captions"),
    [
        (["a", None, ""], pa.string(), ["a", None, ""]),
        ([None], pa.null(), [None]),
        ([["a", "b"], [], None, [None, "c"]], pa.list_(pa.string()), ["a", None, None, None]),
        ([["a", "b"]], pa.large_list(pa.large_string()), ["a"]),
        ([[{"text": "a"}, {"text": "b"}], [], None, [None], [{"text": None}]], pa.list_(TOLD), ["a"] + [None] * 4),
    ],
)
def test_the_caption_of_a_list_is_its_first(values: list[Any], kind: pa.DataType, captions: list[str | None]) -> None:
    assert captions_of(pa.array(values, kind), "c") == captions


@pytest.mark.parametrize(
    "kind",
    [pa.int64(), pa.list_(pa.int64()), TOLD, pa.list_(pa.struct([("said", pa.string())])), pa.list_(pa.list_(TOLD))],
    ids=str,
)
def test_a_column_of_something_else_is_no_caption(kind: pa.DataType) -> None:
    with pytest.raises(ScoreError, match=r"caption samples\.c "):
        captions_of(pa.array([], kind), "samples.c")


@pytest.mark.parametrize(
    ("config", "fits"),
    [
        (PairsConfig(batch=64, size=8, running=TorchRuntime(memory_bytes=64 * 64 * 4)), True),
        (PairsConfig(batch=64, size=8, running=TorchRuntime(memory_bytes=64 * 64 * 4 - 1)), False),
        (PairsConfig(batch=64, size=8, running=TorchRuntime(memory_bytes=64 * 64 * 4, compute="float64")), False),
        (PairsConfig(batch=1_365, size=256), True),  # 268,369,920 bytes of 268,435,456
        (PairsConfig(batch=1_366, size=256), False),
        (PairsConfig(batch=1_366, size=256, running=TorchRuntime(memory_bytes=1_366 * 3 << 16)), True),
    ],
)
def test_a_batch_must_fit_into_memory_before_anything_is_loaded(config: PairsConfig, fits: bool) -> None:
    refused = ""
    try:
        pairs.TASK.load(replace(config, tokenizer="missing.json"), NoFiles())
    except (ScoreError, AssertionError) as error:  # of PyTorch, or of the tokenizer's file, where it fits
        refused = str(error)
    assert ("`batch`" in refused) != fits


def classifier(**settings: Any) -> ImageClassifier:
    return ImageClassifier(ImageClassifierConfig(label="of", labels=("cat", "dog"), size=SIDE, **settings), NETWORK)


def test_a_picture_with_a_known_label_is_an_example() -> None:
    task = classifier()
    labels = pa.array(["dog", "cat", None, "cow", "dog", None], pa.string())
    pictures = squares([RED, BLUE, RED, RED, None, None], SIDE)
    found = task.encode(pa.record_batch({"of": labels, "image": pictures}))
    assert list(found.status) == [OK, OK, NO_LABEL, UNKNOWN_LABEL, NO_INPUT, NO_INPUT]
    assert (found.examples.labels.tolist(), found.count) == ([1, 0], 2)
    assert found.examples.pixels[:, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]
    assert (task.reads, task.side) == (("image", "of"), SIDE)


def test_mismatched_pictures_have_the_label_of_the_one_before() -> None:
    task = classifier()
    examples = task.encode(pa.record_batch({"of": ["cat", "dog", "dog"], "image": squares([RED] * 3, SIDE)})).examples
    others: Any
    others, changed = task.mismatched(examples)
    assert (others.labels.tolist(), changed.tolist()) == ([1, 0, 1], [True, True, False])
    chosen: Any = task.chosen(others, np.array([2]))
    assert chosen.labels.tolist() == [1]


def test_what_alignment_depends_on_is_known_before_it_is_loaded() -> None:
    assert ALIGNMENT.files(AlignmentConfig()) == conse.FILES
    own = AlignmentConfig(encoders="missing_module:towers", weights="w.safetensors")
    assert ALIGNMENT.files(own) == ("w.safetensors",)
    assert ALIGNMENT.files(replace(own, tokenizer="t.json")) == ("w.safetensors", "t.json")
    assert ALIGNMENT.files(replace(own, weights="")) == ()
    configs = [AlignmentConfig(), own, replace(own, tokenizer="t.json"), replace(own, layout="clip")]
    packages = [[one.partition(" ")[0] for one in ALIGNMENT.depends(config)] for config in configs]
    assert packages == [["torch", "tokenizers"], ["torch"], ["torch", "tokenizers"], ["torch", "tokenizers", "ftfy"]]
