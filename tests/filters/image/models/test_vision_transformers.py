"""Encoders from weights in safetensors: equal to `transformers`, and one line for files that do not fit.

The golden vectors are what transformers 4.57.6 on torch 2.14.1 gives (`transformers_vectors.py`, same weights, same
picture); UPDATE_GOLDEN=1 asks it again.
"""

import json
import os
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.image.networks import loaded
from tests.filters.image.test_quality import batch, noise
from tests.filters.models.test_tensors import bf16_file
from tests.messages import assert_told
from tests.trainers import run_trainer
from winnow.filters.image.models.framing import Framing
from winnow.filters.image.models.vision_transformers import encoder_of
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.tensors import tensors_bytes
from winnow.filters.operators import find_operator
from winnow.schemas.errors import RecipeError

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "transformers.json"
SIDE = 24


@cache
def golden() -> dict[str, Any]:
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(run_trainer(HERE / "transformers_vectors.py"))
    found: dict[str, Any] = json.loads(GOLDEN.read_text())["networks"]
    return found


def weights(shapes: Mapping[str, list[int]]) -> dict[str, NDArray[np.generic]]:
    """As `transformers_vectors.py` makes them."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, shape in shapes.items():
        found = np.random.default_rng(zlib.crc32(name.encode())).normal(0, 0.3, shape)
        arrays[name] = (found + 1 if "norm" in name and name.endswith("weight") else found).astype(np.float32)
    return arrays


def saved(folder: Path, name: str, changed: Mapping[str, Any] | None = None) -> tuple[str, str, dict[str, Any]]:
    """The files of a golden network, with other settings."""
    network = golden()[name]
    (folder / "model.safetensors").write_bytes(tensors_bytes(weights(network["shapes"]), {"format": "pt"}))
    (folder / "config.json").write_text(json.dumps(network["config"] | (changed or {})))
    return str(folder / "model.safetensors"), str(folder / "config.json"), network


def pixels() -> NDArray[np.float32]:
    colour, down, across = np.mgrid[:3, :SIDE, :SIDE]
    found: NDArray[np.float32] = np.sin(colour + 0.37 * down + 0.11 * across * colour).astype(np.float32)[None]
    return found


NETWORKS = (
    "vit",
    "vit_classifier",
    "clip_vision",
    "clip_projected",
    "clip",
    "siglip_vision",
    "siglip",
    "dinov2",
)


@pytest.mark.parametrize("name", NETWORKS)
def test_vectors_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    path, config, network = saved(tmp_path, name)
    session = open_session("image.embedding", "image-models", path, encoder_of(path, config))
    (vector,) = session.run(None, {"pixels": pixels()})[0]
    np.testing.assert_allclose(vector, network["vector"], atol=2e-5)


def test_weights_in_half_precision_are_read(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    path, config, network = saved(tmp_path, "clip_projected")
    halves = {name: one.astype(np.float16) for name, one in weights(network["shapes"]).items()}
    Path(path).write_bytes(tensors_bytes(halves, {}))
    session = open_session("image.embedding", "image-models", path, encoder_of(path, config))
    (vector,) = session.run(None, {"pixels": pixels()})[0]
    np.testing.assert_allclose(vector, network["vector"], atol=2e-2)


def test_an_encoder_of_bf16_weights_is_that_of_the_same_numbers_in_32_bits(tmp_path: Path) -> None:
    path, config, network = saved(tmp_path, "siglip")
    full = weights(network["shapes"])
    Path(path).write_bytes(bf16_file(full))
    rounded = encoder_of(path, config)
    cut = {name: (one.view("<u4") & 0xFFFF0000).view("<f4") for name, one in full.items()}
    Path(path).write_bytes(tensors_bytes(cut, {}))
    assert rounded == encoder_of(path, config)


def test_the_operator_takes_them_and_says_what_does_not_fit(tmp_path: Path) -> None:
    path, config, _ = saved(tmp_path, "clip_projected")
    small = Framing(SIDE, "stretch")
    found = loaded("image.embedding", model=path, config=config, dimensions=20, framing=small)(batch(noise(30, 40)))
    assert (found["status"].to_pylist(), len(found["vector"][0])) == (["ok"], 20)
    for settings, said in (
        ({"model": path}, "only weights; set `config` to the `config.json` beside them, or use an ONNX file"),
        ({"model": path, "config": config, "framing": small}, "set `dimensions` to 20"),
        ({"model": path, "config": config, "dimensions": 20}, "set `side` to 24"),
    ):
        with pytest.raises(RecipeError) as problem:
            loaded("image.embedding", **settings)
        assert said in str(problem.value)
        assert "\n" not in str(problem.value)


def test_both_files_are_in_the_layers_key() -> None:
    operator = find_operator("image.embedding")
    settings = operator.config(model="a/model.safetensors", config="a/config.json")
    assert operator.assets(settings) == ("a/model.safetensors", "a/config.json")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"model_type": "swin"},
            "`model_type` … 'swin' … dinov2",
        ),
        ({"model_type": None}, "`model_type` is 'None'"),
        ({"hidden_size": 1 << 40}, "`hidden_size` … '1099511627776' … expected 8"),
        ({"hidden_size": "32"}, "`hidden_size` … '32' … expected 8"),
        ({"num_hidden_layers": 3}, "no array encoder.layer.2.layernorm_before.weight"),
        ({"hidden_size": 64}, "is [32, 3, 8, 8]; expected [64, 3, 8, 8]"),
        ({"image_size": 48}, "is [1, 10, 32]; expected [1, 37, 32]"),
        ({"num_attention_heads": 5}, "`hidden_size` … `num_attention_heads`"),
        ({"patch_size": 25}, "`patch_size` is more than `image_size`"),
        ({"patch_size": 7}, "is [32, 3, 8, 8]; expected [32, 3, 7, 7]"),
        ({"vision_use_head": False}, "`vision_use_head` … 'False' … ONNX"),
        ({"model_type": "siglip2"}, "`model_type` … 'siglip2'"),
        ({"num_channels": 1}, "`num_channels` is '1'; expected 3"),
        ({"layer_norm_eps": float("nan")}, "not an object in JSON"),
        ({"hidden_act": "swish"}, "`hidden_act` … 'swish'"),
        ({"use_swiglu_ffn": True}, "`use_swiglu_ffn` is 'True'; expected False"),
        ({"model_type": "clip"}, "no array vision_model.embeddings.patch_embedding.weight"),
    ],
)
def test_a_configuration_that_does_not_fit_is_one_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    path, config, _ = saved(tmp_path, "vit", changed)
    with pytest.raises(RecipeError) as problem:
        encoder_of(path, config)
    assert_told(str(problem.value), said)
    assert "\n" not in str(problem.value)
    assert str(tmp_path) in str(problem.value)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not a safetensors file"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "header too large"),
        (b"\x80\x04\x95" + bytes(40), "not a safetensors file"),
        (b"\x10" + bytes(7) + b'{"a":' + b"[" * 100, "not a safetensors file"),
    ],
)
def test_weights_that_are_none_are_one_line(tmp_path: Path, raw: bytes, said: str) -> None:
    path, config, _ = saved(tmp_path, "vit")
    Path(path).write_bytes(raw)
    with pytest.raises(RecipeError) as problem:
        encoder_of(path, config)
    assert said in str(problem.value)
    assert "\n" not in str(problem.value)


def test_arrays_of_another_type_or_without_finite_numbers_are_one_line(tmp_path: Path) -> None:
    path, config, network = saved(tmp_path, "vit")
    name = "encoder.layer.1.output.dense.bias"
    arrays = weights(network["shapes"])
    for wrong, said in (
        (np.full(32, np.inf, np.float32), "has numbers that are not finite"),
        (np.zeros(32, np.int64), "is of type int64; expected floats"),
        (np.zeros((), np.float32), "is []; expected [32]"),
    ):
        Path(path).write_bytes(tensors_bytes(arrays | {name: wrong}, {}))
        with pytest.raises(RecipeError, match=name) as problem:
            encoder_of(path, config)
        assert said in str(problem.value)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("vit", "encoder.layer.1.output.dense.bias"),
        ("clip_vision", "vision_model.encoder.layers.1.self_attn.q_proj.bias"),
        ("siglip_vision", "vision_model.encoder.layers.1.mlp.fc2.bias"),
    ],
)
def test_a_file_without_a_bias_that_its_kind_has_is_one_line(tmp_path: Path, name: str, missing: str) -> None:
    path, config, network = saved(tmp_path, name)
    arrays = weights(network["shapes"])
    del arrays[missing]
    Path(path).write_bytes(tensors_bytes(arrays, {}))
    with pytest.raises(RecipeError, match=f"no array {missing}"):
        encoder_of(path, config)


def test_questions_keys_and_values_may_have_no_biases(tmp_path: Path) -> None:
    path, config, network = saved(tmp_path, "vit")
    arrays = weights(network["shapes"])
    left = {name: one for name, one in arrays.items() if ".attention.attention." not in name or "bias" not in name}
    assert len(left) < len(arrays)
    Path(path).write_bytes(tensors_bytes(left, {}))
    assert encoder_of(path, config)
