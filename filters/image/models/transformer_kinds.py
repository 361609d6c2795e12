"""The supported kinds of vision transformers: the names of their arrays, and the settings of their `config.json`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown

MAX_CONFIG_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Names:
    """The names that `transformers` gives the arrays of one kind of network; {} is the number of a block."""

    prefixes: tuple[str, ...]  # a network may be saved alone or as a part of another
    token: str | None  # comes before the patches
    positions: str
    patches: str
    patch_bias: str | None
    before: str | None  # a norm before all blocks
    norms: tuple[str, str]
    query: str
    key: str
    value: str
    attended: str
    wider: str
    narrower: str
    scales: tuple[str, str] | None  # factors of the outputs of attention and of the two layers
    after: str
    projection: str | None = None  # which has another prefix
    pooling: str | None = None  # a last block, in which one learnt query attends to all tokens
    unbiased: tuple[str, ...] = ()  # layers that may lack biases


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of network."""

    names: Names
    defaults: Mapping[str, object]  # of settings missing in a `config.json`
    nested: str | None = None  # the key of its part of a larger configuration


_SIZES: Final = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224}
_ATTENTION: Final = "encoder.layer.{}.attention.attention."
_CLIP_BLOCK: Final = "encoder.layers.{}."  # SigLIP's, too

_VIT: Final = Kind(
    Names(
        prefixes=("", "vit."),
        token="embeddings.cls_token",
        positions="embeddings.position_embeddings",
        patches="embeddings.patch_embeddings.projection.weight",
        patch_bias="embeddings.patch_embeddings.projection.bias",
        before=None,
        norms=("encoder.layer.{}.layernorm_before", "encoder.layer.{}.layernorm_after"),
        query=f"{_ATTENTION}query",
        key=f"{_ATTENTION}key",
        value=f"{_ATTENTION}value",
        attended="encoder.layer.{}.attention.output.dense",
        wider="encoder.layer.{}.intermediate.dense",
        narrower="encoder.layer.{}.output.dense",
        scales=None,
        after="layernorm",
        unbiased=(f"{_ATTENTION}query", f"{_ATTENTION}key", f"{_ATTENTION}value"),
    ),
    {**_SIZES, "patch_size": 16, "layer_norm_eps": 1e-12, "hidden_act": "gelu"},
)
_DINOV2: Final = Kind(
    Names(
        prefixes=("", "dinov2."),
        token="embeddings.cls_token",
        positions="embeddings.position_embeddings",
        patches="embeddings.patch_embeddings.projection.weight",
        patch_bias="embeddings.patch_embeddings.projection.bias",
        before=None,
        norms=("encoder.layer.{}.norm1", "encoder.layer.{}.norm2"),
        query=f"{_ATTENTION}query",
        key=f"{_ATTENTION}key",
        value=f"{_ATTENTION}value",
        attended="encoder.layer.{}.attention.output.dense",
        wider="encoder.layer.{}.mlp.fc1",
        narrower="encoder.layer.{}.mlp.fc2",
        scales=("encoder.layer.{}.layer_scale1.lambda1", "encoder.layer.{}.layer_scale2.lambda1"),
        after="layernorm",
        unbiased=(f"{_ATTENTION}query", f"{_ATTENTION}key", f"{_ATTENTION}value"),
    ),
    {**_SIZES, "patch_size": 14, "layer_norm_eps": 1e-6, "hidden_act": "gelu"},
)
_CLIP_NAMES: Final = Names(
    prefixes=("vision_model.",),
    token="embeddings.class_embedding",
    positions="embeddings.position_embedding.weight",
    patches="embeddings.patch_embedding.weight",
    patch_bias=None,
    before="pre_layrnorm",  # spelt so
    norms=(f"{_CLIP_BLOCK}layer_norm1", f"{_CLIP_BLOCK}layer_norm2"),
    query=f"{_CLIP_BLOCK}self_attn.q_proj",
    key=f"{_CLIP_BLOCK}self_attn.k_proj",
    value=f"{_CLIP_BLOCK}self_attn.v_proj",
    attended=f"{_CLIP_BLOCK}self_attn.out_proj",
    wider=f"{_CLIP_BLOCK}mlp.fc1",
    narrower=f"{_CLIP_BLOCK}mlp.fc2",
    scales=None,
    after="post_layernorm",
    projection="visual_projection.weight",
)
_CLIP_DEFAULTS: Final = {**_SIZES, "patch_size": 32, "layer_norm_eps": 1e-5, "hidden_act": "quick_gelu"}
_SIGLIP_NAMES: Final = replace(
    _CLIP_NAMES,
    token=None,
    patch_bias="embeddings.patch_embedding.bias",
    before=None,
    projection=None,
    pooling="head",
)
_SIGLIP_DEFAULTS: Final = {**_SIZES, "patch_size": 16, "layer_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh"}
KINDS: Final[Mapping[str, Kind]] = {
    "vit": _VIT,
    "dinov2": _DINOV2,
    "clip_vision_model": Kind(_CLIP_NAMES, _CLIP_DEFAULTS),
    "clip": Kind(_CLIP_NAMES, _CLIP_DEFAULTS, nested="vision_config"),
    "siglip_vision_model": Kind(_SIGLIP_NAMES, _SIGLIP_DEFAULTS),
    "siglip": Kind(_SIGLIP_NAMES, _SIGLIP_DEFAULTS, nested="vision_config"),
}
"""By `model_type`."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The settings of a `config.json` that affect the computation."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    image_size: int
    patch_size: int
    layer_norm_eps: float
    hidden_act: str


_LIMITS: Final = {
    "hidden_size": (8, 8192),
    "num_hidden_layers": (1, 256),
    "num_attention_heads": (1, 256),
    "image_size": (8, 2048),
    "patch_size": (1, 512),
}
_ACTIVATIONS: Final = ("gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu")


def described(config: str) -> tuple[Kind, Sizes]:
    """The kind of network in a `config.json`, and its sizes.

    Raises:
        RecipeError: It is not such a file, or describes an unsupported network.
    """
    try:
        with open(config, "rb") as stream:
            raw = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise RecipeError(f"{config}: {error.strerror or error}; expected the `config.json` of the weights") from None
    try:
        said = orjson.loads(raw) if len(raw) <= MAX_CONFIG_BYTES else None
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        raise RecipeError(
            f"{config}: not an object in JSON of at most 1 MiB; expected the `config.json` of the weights"
        )
    name = said.get("model_type")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise RecipeError(
            f"{config}: `model_type` is {shown(str(name), 60)}; expected one of {', '.join(KINDS)}, or an ONNX file"
        )
    if kind.nested is not None:
        said = said.get(kind.nested)
        said = said if isinstance(said, dict) else {}
    values = {**kind.defaults, **{key: one for key, one in said.items() if key in kind.defaults and one is not None}}
    for key, (least, most) in _LIMITS.items():
        one = values[key]
        if not isinstance(one, int) or isinstance(one, bool) or not least <= one <= most:
            raise RecipeError(f"{config}: `{key}` is {shown(str(one), 60)}; expected {least} to {most}")
    epsilon, activation = values["layer_norm_eps"], values["hidden_act"]
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise RecipeError(f"{config}: `layer_norm_eps` is {shown(str(epsilon), 60)}; expected a number between 0 and 1")
    if activation not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        raise RecipeError(f"{config}: `hidden_act` is {shown(str(activation), 60)}; expected one of {known}")
    sizes = Sizes(**values)
    for wrong, told in (
        (sizes.hidden_size % sizes.num_attention_heads, "`hidden_size` is no multiple of `num_attention_heads`"),
        (sizes.patch_size > sizes.image_size, "`patch_size` is more than `image_size`"),
    ):
        if wrong:
            raise RecipeError(f"{config}: {told}; expected the `config.json` of the weights")
    for key, usual in (("num_channels", 3), ("use_swiglu_ffn", False), ("vision_use_head", True)):
        if said.get(key, usual) != usual:
            raise RecipeError(f"{config}: `{key}` is {shown(str(said[key]), 60)}; expected {usual}, or an ONNX file")
    return kind, sizes
