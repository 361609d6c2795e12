"""Images and texts in one space by the names of classes; real networks where their files have been fetched."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.scoring.torch_models.samples import noise, squares
from winnow.pipelines.assets import AssetFiles, find_asset, state_of
from winnow.schemas.errors import ScoreError
from winnow.scoring.tasks.alignment import TASK, Alignment, AlignmentConfig
from winnow.scoring.torch_models import conse, efficientnet, minilm
from winnow.scoring.torch_models.examples import Ragged
from winnow.scoring.torch_models.files import read_checkpoint

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

fetched = pytest.mark.skipif(
    any(state_of(find_asset(name)) != "present" for name in conse.FILES),
    reason=f"needs: winnow assets fetch {' '.join(conse.FILES)}",
)


def at_random(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) * 0.05 for name, shape in shapes.items()}


def test_a_sentence_goes_through_encoder_layers_as_pytorch_has_them() -> None:
    arrays = at_random(minilm.shapes())
    tokens = torch.tensor([[101, 7, 8, 9, 102], [101, 5, 102, 0, 0]])
    places = torch.arange(5)
    words, position, kind = (
        arrays[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    hidden = words[tokens] + position[places] + kind[0]
    weight, bias = (arrays[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
    hidden = torch.nn.functional.layer_norm(hidden, (384,), weight, bias, 1e-12)
    for number in range(6):
        hidden = layer_of(arrays, f"encoder.layer.{number}")(hidden, src_key_padding_mask=tokens == 0)
    expected = torch.stack([hidden[0].mean(0), hidden[1, :3].mean(0)])
    torch.testing.assert_close(minilm.mean_embedding(arrays, tokens), expected, atol=1e-5, rtol=1e-5)


def layer_of(arrays: dict[str, Any], at: str) -> Any:
    """An encoder layer of PyTorch's with the same arrays."""
    layer = torch.nn.TransformerEncoderLayer(384, 12, 1_536, 0.0, "gelu", 1e-12, batch_first=True)
    read = [f"{at}.attention.self.{name}" for name in ("query", "key", "value")]
    named = {
        "self_attn.out_proj": f"{at}.attention.output.dense",
        "norm1": f"{at}.attention.output.LayerNorm",
        "linear1": f"{at}.intermediate.dense",
        "linear2": f"{at}.output.dense",
        "norm2": f"{at}.output.LayerNorm",
    }
    state = {f"{ours}.{part}": arrays[f"{name}.{part}"] for ours, name in named.items() for part in ("weight", "bias")}
    for part in ("weight", "bias"):
        state[f"self_attn.in_proj_{part}"] = torch.cat([arrays[f"{name}.{part}"] for name in read])
    layer.load_state_dict(state)
    return layer.train()  # without dropout; its fast path in evaluation is left alone


def test_zeros_behind_a_sentence_change_nothing() -> None:
    arrays = at_random(minilm.shapes())
    short = Ragged.of([[101, 7, 102]])
    few, many = (minilm.mean_embedding(arrays, torch.from_numpy(short.padded(width))) for width in (3, 40))
    torch.testing.assert_close(few, many, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("side", "kernel", "stride", "expected"), [(8, 3, 2, 9), (7, 3, 2, 9), (8, 5, 1, 12)])
def test_zeros_around_an_image_are_those_of_tensorflow(side: int, kernel: int, stride: int, expected: int) -> None:
    padded = efficientnet._padded(torch.ones(1, 1, side, side), kernel, stride)
    assert tuple(padded.shape) == (1, 1, expected, expected)
    before = (expected - side) // 2
    assert padded[0, 0, :, before].nonzero().flatten().tolist() == list(range(before, before + side))


def test_an_image_is_the_weighed_mean_of_its_ten_likeliest_classes() -> None:
    generator = torch.Generator().manual_seed(0)
    said, vectors = torch.randn(2, 30, generator=generator), torch.randn(30, 4, generator=generator)
    likely = np.exp(said.numpy().astype(np.float64))
    which = np.argsort(-likely, axis=1)[:, :10]
    expected = [np.average(vectors.numpy()[row], 0, likely[place, row]) for place, row in enumerate(which)]
    np.testing.assert_allclose(conse._of_classes(said, vectors), np.array(expected), rtol=1e-5)


def test_names_are_read_out_of_a_script() -> None:
    lines = [f"    {number}: 'class {number}'," for number in range(1_000)]
    lines[3] = "    3: 'great white shark, ' +\n        \"man-eater's\","
    script = "exports.IMAGENET_CLASSES = {\n" + "\n".join(lines) + "\n};\n//# 4: 'x'"
    names = conse.class_names(script, "names.js")
    assert names[2:5] == ["class 2", "great white shark, man-eater's", "class 4"]
    with pytest.raises(ScoreError, match=r"names.js: 999 names of classes; expected 1,000"):
        conse.class_names(script.replace("7: 'class 7',", ""), "names.js")


@fetched
def test_the_classifier_says_what_its_own_code_says() -> None:
    """The golden numbers are those of the code in efficientnet-lite-pytorch 0.1.0, on the same picture."""
    arrays = read_checkpoint(AssetFiles().path(conse.CLASSIFIER))
    down, across = np.mgrid[:224, :224]
    picture = np.stack([across * 255 // 223, down * 255 // 223, (across // 32 + down // 32) % 2 * 255])
    pixels = (torch.from_numpy(picture).float()[None] - 127) / 128
    parameters = {name: torch.from_numpy(array) for name, array in arrays.items()}
    with torch.no_grad():
        values, classes = efficientnet.classified(parameters, pixels)[0].topk(5)
    assert classes.tolist() == [844, 851, 149, 916, 664]
    np.testing.assert_allclose(values, [2.5360, 2.4809, 2.4126, 2.4062, 2.4020], atol=1e-3)


@fetched
def test_captions_are_near_the_names_of_their_classes_and_values_are_their_own() -> None:
    task = TASK.load(AlignmentConfig(), AssetFiles())
    assert isinstance(task, Alignment)
    long = "A long caption about nothing that anybody could see in a picture, which goes on and on. " * 2
    captions = ["A tabby cat.", "A cup of espresso.", long]
    images = squares([noise(seed, 64) for seed in range(3)], efficientnet.SIDE)
    examples = task.encode(pa.record_batch({"image": images, "text": captions})).examples
    whole = task.values(examples)
    alone = [task.values(task.chosen(examples, np.array([place])))[0] for place in range(3)]
    np.testing.assert_allclose(whole, alone, atol=1e-5)
    _, texts = task.embedded(examples)
    nearest = (texts @ task._weights["classes"].numpy().T).argmax(1)
    assert nearest[:2].tolist() == [281, 967]  # tabby, espresso
