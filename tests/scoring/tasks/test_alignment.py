"""Cosines of images and captions: a pair's own, whatever else is measured with it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import NoFiles, ThesePaths, noise, plain, squares, user_pair
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, OK, TOO_LONG
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.alignment import TASK, Alignment, AlignmentConfig
from winnow.scoring.torch_models import conse
from winnow.scoring.torch_models.runtime import TorchRuntime

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = AlignmentConfig(encoders=f"{SAMPLES}:user_pair", size=16, max_tokens=12)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """The user's encoders at random."""
    torch.manual_seed(0)
    return saved(tmp_path / "pair.safetensors", user_pair().state_dict())


def saved(path: Path, arrays: Any) -> Path:
    package: Any = pytest.importorskip("safetensors.torch", reason="needs the extra `torch`")
    package.save_file({name: array.contiguous() for name, array in arrays.items()}, path)
    return path


def loaded(weights: Path, **options: Any) -> Alignment:
    found = TASK.load(replace(CONFIG, weights=str(weights), **options), ThesePaths())
    assert isinstance(found, Alignment)
    return found


def rows(images: Sequence[bytes | None], captions: Sequence[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"image": squares(images), "text": pa.array(captions, pa.string())})


def some(task: Alignment, count: int) -> Any:
    found = task.encode(rows([noise(seed) for seed in range(count)], [f"caption {seed}" for seed in range(count)]))
    assert found.count == count
    return found.examples


def test_it_is_found_by_its_name_and_measures() -> None:
    assert find_task("alignment") is TASK
    assert TASK.measures


def test_each_row_says_why_it_has_no_example(weights: Path) -> None:
    images = [plain((9, 9, 9)), None, plain((9, 9, 9)), plain((9, 9, 9)), b"\x89PNG\r\n\x1a\n damaged"]
    found = loaded(weights).encode(rows(images, ["a", "b", None, "", "e"]))
    assert list(found.status) == [OK, NO_INPUT, NO_INPUT, NO_INPUT, NO_INPUT]
    assert found.count == 1


def test_the_caption_may_be_another_column_and_too_long_ones_refused(weights: Path) -> None:
    task = loaded(weights, caption="extract.main.title", longer="refuse")
    assert task.reads == TASK.reads(replace(CONFIG, caption="extract.main.title")) == ("image", "extract.main.title")
    given = pa.record_batch({"image": squares([noise(0), noise(1)]), "extract.main.title": ["a", "x" * 13]})
    assert list(task.encode(given).status) == [OK, TOO_LONG]


def test_a_value_is_the_cosine_of_what_the_encoders_make(weights: Path) -> None:
    task, module = loaded(weights), user_pair()
    module.load_state_dict(state(weights))
    examples = some(task, 3)
    pixels = torch.from_numpy(examples.pixels).permute(0, 3, 1, 2).float() / 255
    tokens = torch.from_numpy(examples.tokens.padded(12))
    with torch.no_grad():
        images, texts = module.encode_image((pixels - 0.5) / 0.5), module.encode_text(tokens)
        expected = torch.nn.functional.cosine_similarity(images.double(), texts.double())
    np.testing.assert_allclose(task.values(examples), expected.numpy(), atol=1e-6)


def state(weights: Path) -> Any:
    package: Any = pytest.importorskip("safetensors.torch", reason="needs the extra `torch`")
    return package.load_file(weights)


@pytest.mark.parametrize("running", [TorchRuntime(), TorchRuntime(memory_bytes=1)])
def test_a_value_does_not_depend_on_what_else_is_measured(weights: Path, running: TorchRuntime) -> None:
    task = loaded(weights, running=running)
    nine = some(task, 9)
    alone = [task.values(task.chosen(nine, np.array([place])))[0] for place in range(9)]
    whole = task.values(nine)
    np.testing.assert_allclose(whole, alone, atol=1e-5)
    backwards = task.values(task.chosen(nine, np.arange(9)[::-1].copy()))
    np.testing.assert_allclose(backwards[::-1], whole, atol=1e-5)
    parts = [task.chosen(nine, np.arange(4)), task.chosen(nine, np.arange(4, 9))]
    np.testing.assert_allclose(task.values(task.joined(parts)), whole, atol=1e-5)


def test_nothing_gives_nothing(weights: Path) -> None:
    task = loaded(weights)
    assert len(task.values(task.encode(rows([None], ["a"])).examples)) == 0


def test_an_encoder_that_makes_zeros_or_no_numbers_has_no_cosine(weights: Path) -> None:
    arrays = state(weights)
    arrays["text.weight"][ord("~")] = 3e38  # two of them are no number
    arrays["text.weight"][[0, ord("z")]] = 0.0
    task = loaded(saved(weights, arrays))
    found = task.values(task.encode(rows([noise(seed) for seed in range(3)], ["a", "~~", "z"])).examples)
    assert np.isnan(found).tolist() == [False, True, True]


def test_half_as_many_at_a_time_where_memory_ends(tmp_path: Path) -> None:
    config = {"encoders": f"{__name__}:hungry_pair", "running": TorchRuntime(memory_bytes=1 << 30)}
    weights = saved(tmp_path / "pair.safetensors", hungry_pair().state_dict())
    task = loaded(weights, **config)
    assert np.isfinite(task.values(some(task, 7))).all()


def hungry_pair() -> Any:
    """The user's encoders, of which more than two images at a time need more memory than any machine has."""
    module = user_pair()
    inner = module.encode_image

    def encode_image(pixels: Any) -> Any:
        if len(pixels) > 2:
            torch.empty(1 << 60)
        return inner(pixels)

    module.encode_image = encode_image
    return module


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoders": "clip"}, "`encoders`: 'clip'; expected conse, or `module:function`"),
        ({"encoders": f"{SAMPLES}:user_classifier"}, "`encoders`: .* made a Sequential without `encode_image`"),
        ({"encoders": f"{SAMPLES}:nothing"}, "`encoders`: .* cannot be called"),
        ({"size": 17}, "`encoders`: .*: of one image of 17 pixels a side it fails"),
        ({"encoders": "conse"}, "`weights` applies only to your own encoders"),
    ],
)
def test_what_cannot_be_is_one_line(weights: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError, match=message) as raised:
        loaded(weights, **options)
    assert "\n" not in str(raised.value)


def test_weights_must_be_given_be_there_and_fit(tmp_path: Path, weights: Path) -> None:
    with pytest.raises(ScoreError, match="`weights`: expected the safetensors file"):
        TASK.load(CONFIG, NoFiles())
    with pytest.raises(ScoreError, match=r"gone.safetensors: .*expected a safetensors file"):
        loaded(tmp_path / "gone.safetensors")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ScoreError, match="not a safetensors file, or a damaged one"):
        loaded(damaged)
    arrays = state(weights)
    del arrays["image.bias"]
    with pytest.raises(ScoreError, match=r"these weights do not fit this model: missing image.bias"):
        loaded(saved(tmp_path / "other.safetensors", arrays))


def test_the_files_that_it_needs_are_named_before_it_is_loaded() -> None:
    assert TASK.files(AlignmentConfig()) == conse.FILES
    assert TASK.files(replace(CONFIG, weights="a/pair.safetensors")) == ("a/pair.safetensors",)
    assert TASK.files(replace(CONFIG, weights="a.st", tokenizer="t.json")) == ("a.st", "t.json")
