"""Pictures and captions as published dual encoders read them: equal to open_clip's own, to the last bit."""

import gzip
import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.measuring.environments import PEERS
from tests.messages import assert_refused
from tests.scoring.torch_models import open_clip_peer
from tests.scoring.torch_models.samples import NoFiles, ThesePaths
from winnow.filters.image.decode.stills import DecodeLimits, decode
from winnow.filters.image.models.framing import Fit, Framing, framed
from winnow.pipelines.assets import AssetError, lookup
from winnow.schemas.errors import ScoreError
from winnow.scoring.tasks.alignment import TASK as ALIGNMENT
from winnow.scoring.tasks.alignment import AlignmentConfig
from winnow.scoring.tasks.pairs import TASK, PairsConfig, read_as
from winnow.scoring.torch_models.layouts import LAYOUTS, Layout, read_layout
from winnow.scoring.torch_models.tokens import CLIP, CLIP_END, CleanedTokenizer, Cleaning, tokenizer_of
from winnow.scoring.torch_models.vision import normalised

PICTURES = 1_000
MODES = {"JPEG": ("RGB", "L"), "PNG": ("RGB", "L"), "WEBP": ("RGB",)}
CAPTIONS = [
    "",
    "a photo of a cat",
    "It’s &amp;amp; CAFÉ 🐱 12,345 o'clock",
    "don't  you\tsee\nwe'll've “quotes” ﬁne",
    "Ünïcode naïve 漢字 кот القط हिन्दी",
    "word " * 100,
    "snake_case <b>bold</b> #1 (best!) ...",
    "sÃ£o paulo \x1b[1mbold\x1b[0m",
]


def picture(number: int) -> tuple[Image.Image, str]:
    """Clouds of colours with noise, of any shape."""
    random = np.random.default_rng(number)
    width, height = (int(one) for one in random.integers(16, 300, 2))
    coarse = Image.fromarray(random.integers(0, 256, (5, 7, 3), np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    noisy = np.clip(np.asarray(coarse, np.int16) + random.integers(-20, 21, (height, width, 3)), 0, 255)
    kind = list(MODES)[number % len(MODES)]
    modes = MODES[kind]
    return Image.fromarray(noisy.astype(np.uint8)).convert(modes[number // len(MODES) % len(modes)]), kind


def ours(file: bytes, mime: str, layout: Layout) -> Any:
    """The numbers of a picture, as the task computes them but for PyTorch."""
    pixels = framed(decode(file, mime, DecodeLimits()).pixels, Framing(layout.size, layout.fit))
    mean, deviation = (np.array(one, np.float32)[:, None, None] for one in (layout.mean, layout.deviation))
    return (pixels.transpose(2, 0, 1).astype(np.float32) / np.float32(255) - mean) / deviation


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (PEERS / "open-clip" / "ready").exists():
        pytest.skip("needs the peer's environment, which make test-peers makes")
    folder = tmp_path_factory.mktemp("open-clip")
    (folder / "pictures").mkdir()
    for number in range(PICTURES):
        image, kind = picture(number)
        options: dict[str, Any] = {"quality": 50 + number % 50} if kind == "JPEG" else {}
        image.save(folder / "pictures" / f"{number:04d}.{kind.lower()}", kind, **options)
    (folder / "captions.json").write_text(json.dumps(CAPTIONS))
    python = PEERS / "open-clip" / "bin" / "python"
    subprocess.run([python, open_clip_peer.__file__, folder], check=True, capture_output=True)
    return folder


@pytest.mark.peers
@pytest.mark.parametrize("name", ["clip", "siglip", "mobileclip"])
def test_a_thousand_pictures_become_open_clips_numbers_to_the_last_bit(peer: Path, name: str) -> None:
    theirs = json.loads((peer / "pictures.json").read_text())[name]
    files = sorted((peer / "pictures").iterdir())
    found = [ours(one.read_bytes(), f"image/{one.suffix[1:]}", LAYOUTS[name]) for one in files]
    assert len(found) == PICTURES
    assert [hashlib.sha256(one.tobytes()).hexdigest() for one in found] == theirs


@pytest.mark.peers
def test_captions_become_open_clips_tokens(peer: Path) -> None:
    theirs = json.loads((peer / "tokens.json").read_text())
    try:
        tokenizer = tokenizer_of("pairs", lookup(CLIP.name), "lower")
    except AssetError as error:
        pytest.skip(str(error))
    assert isinstance(tokenizer, CleanedTokenizer)
    for tokens, wanted in zip(tokenizer.of(CAPTIONS), theirs["clip"], strict=True):
        assert tokens is not None
        given = [tokenizer.number("<|startoftext|>"), *tokens[:75], tokenizer.number(CLIP_END)]
        assert given + [0] * (77 - len(given)) == wanted


@pytest.mark.parametrize(
    ("cleaning", "wanted"),
    [
        ("whitespace", "It's & CAFÉ snake_case (best!)"),
        ("lower", "it's & café snake_case (best!)"),
        ("canonicalize", "its café snake case best"),
    ],
)
def test_captions_are_cleaned_before_their_tokens(cleaning: Cleaning, wanted: str) -> None:
    pytest.importorskip("ftfy")
    tokenizer = tokenizer_of("pairs", "bytes", cleaning)
    (tokens,) = tokenizer.of(["It’s  &amp;amp; CAFÉ\nsnake_case (best!)"])
    assert tokens is not None
    assert bytes(tokens.astype(np.uint8)).decode() == wanted


def test_a_layout_gives_what_the_recipe_does_not_write() -> None:
    assert read_as("pairs", PairsConfig(layout="clip"), NoFiles()) == LAYOUTS["clip"]
    larger = read_as("pairs", PairsConfig(layout="clip", size=336, mean=0.25), NoFiles())
    assert larger == replace(LAYOUTS["clip"], size=336, mean=(0.25,))
    own = Layout(size=32, mean=(0.5,), deviation=(0.5,), tokenizer="bytes", start="", end="", clean="none")
    assert read_as("pairs", PairsConfig(layout=own), NoFiles()) == own
    plain = read_as("pairs", PairsConfig(), NoFiles())
    assert (plain.fit, plain.clean, plain.mean, plain.tokenizer) == ("stretch", "none", (0.5,), "bytes")


def test_a_layout_names_its_files_before_it_is_loaded() -> None:
    assert TASK.files(PairsConfig(layout="mobileclip")) == (CLIP.name,)
    assert TASK.files(PairsConfig(layout="siglip")) == ()
    assert TASK.files(PairsConfig(layout="siglip", tokenizer="t.json")) == ("t.json",)
    assert TASK.files(PairsConfig(layout="m/open_clip_config.json")) == (CLIP.name, "m/open_clip_config.json")
    config = AlignmentConfig(encoders="a:b", weights="w.safetensors", layout="clip")
    assert ALIGNMENT.files(config) == ("w.safetensors", CLIP.name)


def described(path: Path, **parts: Any) -> str:
    model = {"vision_cfg": {"image_size": 256}, "text_cfg": {"context_length": 64}}
    path.write_text(json.dumps({"model_cfg": model, **parts}))
    return str(path)


def test_an_open_clip_config_says_the_same_of_one_model(tmp_path: Path) -> None:
    seen = {"mean": [0, 0, 0], "std": [1, 1, 1], "interpolation": "bilinear", "resize_mode": "shortest"}
    found = read_layout(described(tmp_path / "c.json", preprocess_cfg=seen))
    assert found == replace(LAYOUTS["mobileclip"], max_tokens=64, mean=(0.0,) * 3, deviation=(1.0,) * 3)
    own = {"hf_tokenizer_name": "timm/ViT-B-16-SigLIP", "tokenizer_kwargs": {"clean": "canonicalize"}}
    model = {"vision_cfg": {"image_size": 224}, "text_cfg": {"context_length": 64, **own}}
    squashed = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash"}
    found = read_layout(described(tmp_path / "s.json", model_cfg=model, preprocess_cfg=squashed))
    assert found == replace(LAYOUTS["siglip"], mean=(0.5,) * 3, deviation=(0.5,) * 3)


def model(size: str = "9", text: str = "{}", seen: str = "{}") -> str:
    return f'{{"model_cfg": {{"vision_cfg": {{"image_size": {size}}}, "text_cfg": {text}}}, "preprocess_cfg": {seen}}}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not an open_clip_config.json"),
        ("[]", "not an open_clip_config.json"),
        ("{}", "no 'model_cfg'"),
        ('{"model_cfg": {"vision_cfg": {"image_size": [1, 2]}, "text_cfg": {}}}', "image_size [1, 2]"),
        (
            '{"model_cfg": {"vision_cfg": {"image_size": 9}, "text_cfg": {}}, "preprocess_cfg": '
            '{"resize_mode": "longest"}}',
            "resize_mode longest",
        ),
        (
            '{"model_cfg": {"vision_cfg": {"image_size": 9}, "text_cfg": {}}, "preprocess_cfg": {"std": [0, 0, 0]}}',
            "expected numbers above 0",
        ),
        (model(seen='{"std": [1e-300, 1, 1]}'), "expected numbers above 0"),
        (model(seen='{"mean": [1e999, 0, 0]}'), "mean [inf, 0, 0]; expected numbers"),
        (model(seen=f'{{"mean": [1{"0" * 400}, 0, 0]}}'), "expected numbers"),
        (model(seen='{"mean": "123"}'), "mean 123"),
        (model(size='"\\u001b[31m"'), "image_size \\x1b[31m;"),
        (model(size="true"), "image_size True"),
        *(
            (model(text=f'{{"context_length": {written}}}'), "context_length")
            for written in ("Infinity", "NaN", "-5", "1", "1e12", "77.5", '"77"', "true", "65537")
        ),
        (model(text='{"hf_tokenizer_name": "xlm-roberta-base"}'), "mapping with start, end and pad"),
        (model(text='{"hf_tokenizer_name": "timm/ViT-B-16-SigLIP2-256"}'), "mapping with start, end and pad"),
    ],
)
def test_a_config_of_something_else_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with assert_refused(ScoreError, said):
        read_layout(str(tmp_path / "c.json"))


@pytest.mark.parametrize("wrong", [{"deviation": (1e-310,)}, {"deviation": (0.0,)}, {"mean": (float("nan"),)}])
def test_numbers_that_no_picture_can_have_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Layout(**wrong)


def test_a_layout_of_no_such_name_says_what_to_write() -> None:
    with assert_refused(ScoreError, "unknown layout 'clpi'", "did you mean 'clip'", "mapping"):
        TASK.load(PairsConfig(layout="clpi"), NoFiles())


@pytest.mark.torch
def test_a_family_whose_models_each_have_a_tokenizer_asks_for_it() -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    with assert_refused(ScoreError, "`tokenizer`", "expected its tokenizer.json"):
        TASK.load(PairsConfig(layout="siglip"), NoFiles())


def test_a_file_that_is_no_vocabulary_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(b"#version\na b\n"))
    with assert_refused(ScoreError, "v.txt.gz", "expected 48,894"):
        tokenizer_of("pairs", ThesePaths().path(str(tmp_path / "v.txt.gz")))


@pytest.mark.parametrize("fit", ["bicubic_crop", "bilinear_crop", "bicubic_stretch"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 50_000), (50_000, 1), (2, 3), (40, 700)])
def test_extreme_pictures_keep_to_the_side(fit: Fit, shape: tuple[int, int]) -> None:
    assert (framed(np.full((*shape, 3), 77, np.uint8), Framing(64, fit)) == 77).all()
    assert framed(np.zeros((*shape, 3), np.uint8), Framing(64, fit)).shape == (64, 64, 3)


def test_a_long_picture_is_cut_before_it_is_resized_to_nearly_the_same_pixels() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (1, 8_195, 3), np.uint8)
    whole = Image.fromarray(pixels).resize((8_195 * 64, 64), Image.Resampling.BICUBIC)
    start = round((8_195 * 64 - 64) / 2)
    wanted = np.asarray(whole)[:, start : start + 64].astype(int)
    assert np.abs(framed(pixels, Framing(64, "bicubic_crop")).astype(int) - wanted).max() <= 1


@pytest.mark.torch
def test_pictures_become_the_same_numbers_in_pytorch_as_in_numpy() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    pixels = np.random.default_rng(1).integers(0, 256, (2, 8, 8, 3), np.uint8)
    layout = LAYOUTS["clip"]
    found = normalised(torch.from_numpy(pixels), layout.mean, layout.deviation, torch.float32).numpy()
    mean, deviation = (np.array(one, np.float32)[:, None, None] for one in (layout.mean, layout.deviation))
    wanted = (pixels.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255) - mean) / deviation
    assert found.tobytes() == wanted.tobytes()
