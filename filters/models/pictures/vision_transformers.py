"""An ONNX network from the weights of a vision transformer: ViT, DINOv2 and CLIP, as `transformers` saves them.

A safetensors file names arrays and says nothing of the computation; the `config.json` beside it names one of three that
are written here, node by node, with the sizes that it states. Every array that the computation needs must be there, in
its shape; others (text towers, heads of classifiers) are left out. No code of the model's makers is run, and nothing is
unpickled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from winnow.filters.models.onnx.sessions import MAX_MODEL_BYTES
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.tensors import read_tensors
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown

__all__ = ["KINDS", "encoder_of"]

Weights: TypeAlias = NDArray[np.float32]

MAX_CONFIG_BYTES: Final = 1 << 20
_QUICK: Final = 1.702  # CLIP's approximation of GELU: x · sigmoid(1.702 x)


@dataclass(frozen=True, slots=True)
class _Names:
    """What `transformers` calls the arrays of one kind of network; {} is the number of a block."""

    prefixes: tuple[str, ...]  # a network may be saved alone or inside another
    token: str
    positions: str
    patches: str
    patch_bias: str | None
    before: str | None  # a norm ahead of all blocks
    norms: tuple[str, str]
    query: str
    key: str
    value: str
    attended: str
    wider: str
    narrower: str
    scales: tuple[str, str] | None  # of what attention, and the two layers behind it, add
    after: str
    projection: str | None = None  # outside the prefix, and where it is


@dataclass(frozen=True, slots=True)
class _Kind:
    names: _Names
    defaults: Mapping[str, object]  # of settings that a `config.json` leaves out
    nested: str | None = None  # the key of the part of a larger configuration


_SIZES: Final = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224}
_ATTENTION: Final = "encoder.layer.{}.attention.attention."
_CLIP_BLOCK: Final = "encoder.layers.{}."

_VIT: Final = _Kind(
    _Names(
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
    ),
    {**_SIZES, "patch_size": 16, "layer_norm_eps": 1e-12, "hidden_act": "gelu"},
)
_DINOV2: Final = _Kind(
    _Names(
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
    ),
    {**_SIZES, "patch_size": 14, "layer_norm_eps": 1e-6, "hidden_act": "gelu"},
)
_CLIP_NAMES: Final = _Names(
    prefixes=("vision_model.",),
    token="embeddings.class_embedding",
    positions="embeddings.position_embedding.weight",
    patches="embeddings.patch_embedding.weight",
    patch_bias=None,
    before="pre_layrnorm",  # as it is spelt
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
KINDS: Final[Mapping[str, _Kind]] = {
    "vit": _VIT,
    "dinov2": _DINOV2,
    "clip_vision_model": _Kind(_CLIP_NAMES, _CLIP_DEFAULTS),
    "clip": _Kind(_CLIP_NAMES, _CLIP_DEFAULTS, nested="vision_config"),
}
"""By `model_type`."""


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What a `config.json` states; of the many settings that `transformers` writes, those that change the numbers."""

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


def encoder_of(path: str, config: str) -> bytes:
    """The ONNX file of an encoder: `pixels` of [1, 3, side, side] go in, `vector` of [1, n] comes out.

    The vector is what `transformers` calls `image_embeds` of CLIP with a projection, and else the class token behind
    the last norm (`pooler_output` of CLIP and DINOv2, `last_hidden_state[:, 0]` of ViT).

    Args:
        path: The weights, in safetensors.
        config: The `config.json` beside them.

    Raises:
        RecipeError: One of the files is something else, or they do not fit each other.
    """
    kind, sizes = _described(config)
    try:
        size = Path(path).stat().st_size
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected weights in safetensors") from None
    if size > MAX_MODEL_BYTES:
        raise RecipeError(f"{path}: {size:,} bytes; expected weights of at most {MAX_MODEL_BYTES:,}")
    arrays = read_tensors(path).arrays
    names = kind.names
    prefix = next((one for one in names.prefixes if one + names.patches in arrays), None)
    if prefix is None:
        raise RecipeError(f"{path}: no array {names.prefixes[0]}{names.patches}; expected weights that fit {config}")
    return _Writing(path, config, prefix, names, sizes, arrays).network()


def _described(config: str) -> tuple[_Kind, _Sizes]:
    """The kind of network that a `config.json` names, and its sizes."""
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
    sizes = _Sizes(**values)
    for key, wrong in (
        ("num_attention_heads", sizes.hidden_size % sizes.num_attention_heads),
        ("patch_size", sizes.image_size % sizes.patch_size),
    ):
        if wrong:
            whole = "hidden_size" if key == "num_attention_heads" else "image_size"
            raise RecipeError(
                f"{config}: `{whole}` is no multiple of `{key}`; expected the `config.json` of the weights"
            )
    for key, usual in (("num_channels", 3), ("use_swiglu_ffn", False)):
        if said.get(key, usual) != usual:
            raise RecipeError(f"{config}: `{key}` is {shown(str(said[key]), 60)}; expected {usual}, or an ONNX file")
    return kind, sizes


@dataclass(slots=True)
class _Writing:
    """A network under construction."""

    path: str
    config: str
    prefix: str
    names: _Names
    sizes: _Sizes
    arrays: Mapping[str, NDArray[np.generic]]
    graph: OnnxGraph = field(default_factory=lambda: OnnxGraph("encoder"))
    written: int = 0  # constants that have no array of their own

    def network(self) -> bytes:
        """The file."""
        graph, sizes, names = self.graph, self.sizes, self.names
        width, side, patch = sizes.hidden_size, sizes.image_size, sizes.patch_size
        count = (side // patch) ** 2
        kernels = self.array(names.patches, (width, 3, patch, patch))
        biases = [self.array(names.patch_bias, (width,))] if names.patch_bias else []
        pixels = graph.input("pixels", (1, 3, side, side))
        patches = graph.node("Conv", pixels, kernels, *biases, strides=[patch, patch])
        patches = graph.node("Transpose", self.reshaped(patches, (1, width, count)), perm=[0, 2, 1])
        token = self.array(names.token, (1, 1, width), (width,))
        positions = self.array(names.positions, (1, count + 1, width), (count + 1, width))
        tokens = graph.node("Add", graph.node("Concat", token, patches, axis=1), positions)
        if names.before is not None:
            tokens = self.norm(tokens, names.before)
        for number in range(sizes.num_hidden_layers):
            tokens = self.block(tokens, number, count + 1)
        first = graph.node("Gather", tokens, self.constant(np.array(0, np.int64)), axis=1)
        vector, length = self.norm(first, names.after), width
        projection = self.arrays.get(names.projection or "")
        if names.projection is not None and projection is not None:
            length = len(projection) if projection.ndim else 0
            vector = graph.node("MatMul", vector, self.array(names.projection, (length, width), prefix="", turned=True))
        graph.output(graph.node("Identity", vector, name="vector"), (1, length))
        return graph.to_bytes()

    def block(self, tokens: str, number: int, count: int) -> str:
        """Attention among the tokens, and two layers behind it; each adds to what it was given."""
        graph, names = self.graph, self.names
        heads, width = self.sizes.num_attention_heads, self.sizes.hidden_size
        split = (1, count, heads, width // heads)
        seen = self.norm(tokens, names.norms[0].format(number))
        query, key, value = (
            self.reshaped(self.linear(seen, name.format(number), width, width), split)
            for name in (names.query, names.key, names.value)
        )
        query, value = (graph.node("Transpose", one, perm=[0, 2, 1, 3]) for one in (query, value))
        key = graph.node("Transpose", key, perm=[0, 2, 3, 1])
        scale = self.constant(np.array((width // heads) ** -0.5, np.float32))
        attention = graph.node("Softmax", graph.node("Mul", graph.node("MatMul", query, key), scale), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", attention, value), perm=[0, 2, 1, 3])
        mixed = self.reshaped(mixed, (1, count, width))
        tokens = self.added(tokens, self.linear(mixed, names.attended.format(number), width, width), number, 0)
        wider = self.arrays.get(f"{self.prefix}{names.wider.format(number)}.weight")
        inner = len(wider) if wider is not None and wider.ndim else 4 * width
        hidden = self.linear(self.norm(tokens, names.norms[1].format(number)), names.wider.format(number), width, inner)
        hidden = self.activated(hidden)
        return self.added(tokens, self.linear(hidden, names.narrower.format(number), inner, width), number, 1)

    def added(self, tokens: str, change: str, number: int, which: Literal[0, 1]) -> str:
        """The tokens with a change, which some networks scale."""
        if self.names.scales is not None:
            scale = self.array(self.names.scales[which].format(number), (self.sizes.hidden_size,))
            change = self.graph.node("Mul", change, scale)
        return self.graph.node("Add", tokens, change)

    def norm(self, tokens: str, name: str) -> str:
        """Each token with mean 0 and variance 1, times weights, plus biases."""
        graph, shape = self.graph, (self.sizes.hidden_size,)
        apart = graph.node("Sub", tokens, graph.node("ReduceMean", tokens, axes=[-1], keepdims=1))
        squares = graph.node("Pow", apart, self.constant(np.array(2, np.float32)))
        variance = graph.node("ReduceMean", squares, axes=[-1], keepdims=1)
        epsilon = self.constant(np.array(self.sizes.layer_norm_eps, np.float32))
        scaled = graph.node("Div", apart, graph.node("Sqrt", graph.node("Add", variance, epsilon)))
        weighted = graph.node("Mul", scaled, self.array(f"{name}.weight", shape))
        return graph.node("Add", weighted, self.array(f"{name}.bias", shape))

    def linear(self, tokens: str, name: str, reads: int, gives: int) -> str:
        """Weights times each token, plus biases where there are any."""
        found = self.graph.node("MatMul", tokens, self.array(f"{name}.weight", (gives, reads), turned=True))
        bias = f"{name}.bias"
        return self.graph.node("Add", found, self.array(bias, (gives,))) if self.prefix + bias in self.arrays else found

    def activated(self, hidden: str) -> str:
        """What stands between the two layers of a block."""
        graph, kind = self.graph, self.sizes.hidden_act
        if kind == "relu":
            return graph.node("Relu", hidden)
        if kind == "quick_gelu":
            scaled = graph.node("Mul", hidden, self.constant(np.array(_QUICK, np.float32)))
            return graph.node("Mul", hidden, graph.node("Sigmoid", scaled))
        half = graph.node("Mul", hidden, self.constant(np.array(0.5, np.float32)))
        one = self.constant(np.array(1, np.float32))
        if kind == "gelu":
            inner = graph.node("Erf", graph.node("Div", hidden, self.constant(np.array(2**0.5, np.float32))))
        else:
            cube = graph.node("Pow", hidden, self.constant(np.array(3, np.float32)))
            cube = graph.node("Mul", cube, self.constant(np.array(0.044715, np.float32)))
            root = self.constant(np.array((2 / np.pi) ** 0.5, np.float32))
            inner = graph.node("Tanh", graph.node("Mul", graph.node("Add", hidden, cube), root))
        return graph.node("Mul", half, graph.node("Add", inner, one))

    def reshaped(self, value: str, shape: tuple[int, ...]) -> str:
        """A value in another shape."""
        return self.graph.node("Reshape", value, self.constant(np.array(shape, np.int64)))

    def constant(self, array: NDArray[np.generic]) -> str:
        """A constant that is no array of the file."""
        self.written += 1
        return self.graph.constant(f"constant.{self.written}", array)

    def array(
        self,
        name: str,
        shape: tuple[int, ...],
        stored: tuple[int, ...] | None = None,
        *,
        prefix: str | None = None,
        turned: bool = False,
    ) -> str:
        """An array of the file, in 32-bit floats.

        Args:
            name: Its name behind the prefix.
            shape: What it is needed as.
            stored: How it may be stored besides, with as many numbers.
            prefix: Another prefix.
            turned: Whether its two sides are swapped.
        """
        full = (self.prefix if prefix is None else prefix) + name
        found = self.arrays.get(full)
        if found is None:
            raise RecipeError(f"{self.path}: no array {full}; expected weights that fit {self.config}")
        if found.shape not in (shape, stored):
            raise RecipeError(f"{self.path}: {full} is {list(found.shape)}; expected {list(shape)}, by {self.config}")
        if found.dtype.kind != "f":
            raise RecipeError(f"{self.path}: {full} is of type {found.dtype.name}; expected floats")
        numbers: Weights = found.astype(np.float32).reshape(shape)
        if not np.isfinite(numbers).all():
            raise RecipeError(f"{self.path}: {full} has numbers that are not finite; fetch or convert it again")
        return self.graph.constant(full, numbers.T if turned else numbers)
