"""Makes ONNX networks from weights of vision transformers (ViT, DINOv2, CLIP, SigLIP) in the form of `transformers`.

A safetensors file contains named arrays but no computation; the `config.json` beside it names one of four, which are
written here node by node, in the sizes that it states. All arrays that the computation needs must be present, in the
right shape; others (text towers, heads of classifiers) are ignored. No code of the model's makers is run, and nothing
is unpickled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.models.transformer_kinds import Names, Sizes, described
from winnow.filters.models.onnx.sessions import MAX_MODEL_BYTES
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.tensors import read_tensors
from winnow.schemas.errors import RecipeError

Weights: TypeAlias = NDArray[np.float32]

_QUICK: Final = 1.702  # CLIP's approximation of GELU: x · sigmoid(1.702 x)


def encoder_of(path: str, config: str) -> bytes:
    """The ONNX file of an encoder from `pixels` of [1, 3, side, side] to `vector` of [1, n].

    The vector is what `transformers` calls `image_embeds` for CLIP with a projection, `pooler_output` for SigLIP, and
    otherwise the class token after the last norm (`pooler_output` of CLIP and DINOv2, `last_hidden_state[:, 0]` of
    ViT).

    Args:
        path: The weights, in safetensors.
        config: The `config.json` beside them.

    Raises:
        RecipeError: One of the files is of another kind, or they do not fit each other.
    """
    required_package("a network of weights alone", "onnx", "image-models")
    kind, sizes = described(config)
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


@dataclass(slots=True)
class _Writing:
    """A network under construction."""

    path: str
    config: str
    prefix: str
    names: Names
    sizes: Sizes
    arrays: Mapping[str, NDArray[np.generic]]
    graph: OnnxGraph = field(default_factory=lambda: OnnxGraph("encoder"))
    written: int = 0  # constants that are not arrays of the file

    def network(self) -> bytes:
        """The file."""
        graph, sizes, names = self.graph, self.sizes, self.names
        width, side, patch = sizes.hidden_size, sizes.image_size, sizes.patch_size
        count = (side // patch) ** 2  # partial patches at the edges are dropped
        kernels = self.array(names.patches, (width, 3, patch, patch))
        biases = [self.array(names.patch_bias, (width,))] if names.patch_bias else []
        pixels = graph.input("pixels", (1, 3, side, side))
        patches = graph.node("Conv", pixels, kernels, *biases, strides=[patch, patch])
        patches = graph.node("Transpose", self.reshaped(patches, (1, width, count)), perm=[0, 2, 1])
        if names.token is not None:
            patches = graph.node("Concat", self.array(names.token, (1, 1, width), (width,)), patches, axis=1)
            count += 1
        tokens = graph.node("Add", patches, self.array(names.positions, (1, count, width), (count, width)))
        if names.before is not None:
            tokens = self.norm(tokens, names.before)
        for number in range(sizes.num_hidden_layers):
            tokens = self.block(tokens, number, count)
        if names.pooling is None:
            vector = self.norm(self.first(tokens), names.after)
        else:
            vector = self.first(self.pooled(self.norm(tokens, names.after), names.pooling, count))
        length = width
        projection = self.arrays.get(names.projection or "")
        if names.projection is not None and projection is not None:
            length = len(projection) if projection.ndim else 0
            vector = graph.node("MatMul", vector, self.array(names.projection, (length, width), prefix="", turned=True))
        graph.output(graph.node("Identity", vector, name="vector"), (1, length))
        return graph.to_bytes()

    def block(self, tokens: str, number: int, count: int) -> str:
        """Attention among the tokens, then two layers; each is added to its input."""
        names, width = self.names, self.sizes.hidden_size
        seen = self.norm(tokens, names.norms[0].format(number))
        query, key, value = (
            self.linear(seen, name.format(number), width, width, name in names.unbiased)
            for name in (names.query, names.key, names.value)
        )
        mixed = self.attention(query, key, value, count, count)
        tokens = self.added(tokens, self.linear(mixed, names.attended.format(number), width, width), number, 0)
        seen = self.norm(tokens, names.norms[1].format(number))
        hidden = self.two_layers(seen, names.wider.format(number), names.narrower.format(number))
        return self.added(tokens, hidden, number, 1)

    def pooled(self, tokens: str, name: str, count: int) -> str:
        """A pooled vector: attention of a learnt query to all tokens, as in SigLIP's head."""
        graph, width = self.graph, self.sizes.hidden_size
        weights = np.split(self.numbers(f"{name}.attention.in_proj_weight", (3 * width, width)), 3)
        biases = np.split(self.numbers(f"{name}.attention.in_proj_bias", (3 * width,)), 3)
        asked = self.array(f"{name}.probe", (1, 1, width))
        query, key, value = (
            graph.node("Add", graph.node("MatMul", seen, self.constant(weight.T)), self.constant(bias))
            for seen, weight, bias in zip((asked, tokens, tokens), weights, biases, strict=True)
        )
        mixed = self.attention(query, key, value, 1, count)
        answer = self.linear(mixed, f"{name}.attention.out_proj", width, width)
        seen = self.norm(answer, f"{name}.layernorm")
        return graph.node("Add", answer, self.two_layers(seen, f"{name}.mlp.fc1", f"{name}.mlp.fc2"))

    def attention(self, query: str, key: str, value: str, asking: int, seen: int) -> str:
        """Attention of `asking` tokens to `seen` tokens, head by head."""
        graph, width, heads = self.graph, self.sizes.hidden_size, self.sizes.num_attention_heads
        query = self.reshaped(query, (1, asking, heads, width // heads))
        key, value = (self.reshaped(one, (1, seen, heads, width // heads)) for one in (key, value))
        query, value = (graph.node("Transpose", one, perm=[0, 2, 1, 3]) for one in (query, value))
        key = graph.node("Transpose", key, perm=[0, 2, 3, 1])
        scale = self.constant(np.array((width // heads) ** -0.5, np.float32))
        attention = graph.node("Softmax", graph.node("Mul", graph.node("MatMul", query, key), scale), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", attention, value), perm=[0, 2, 1, 3])
        return self.reshaped(mixed, (1, asking, width))

    def two_layers(self, tokens: str, wider: str, narrower: str) -> str:
        """The two layers of a block, of which the first is wider, for each token."""
        width = self.sizes.hidden_size
        weights = self.arrays.get(f"{self.prefix}{wider}.weight")
        inner = len(weights) if weights is not None and weights.ndim else 4 * width
        return self.linear(self.activated(self.linear(tokens, wider, width, inner)), narrower, inner, width)

    def first(self, tokens: str) -> str:
        """The first token."""
        return self.graph.node("Gather", tokens, self.constant(np.array(0, np.int64)), axis=1)

    def added(self, tokens: str, change: str, number: int, which: Literal[0, 1]) -> str:
        """The tokens plus a change, which some networks scale."""
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

    def linear(self, tokens: str, name: str, reads: int, gives: int, unbiased: bool = False) -> str:
        """Weights times each token, plus biases, which only some kinds may lack."""
        found = self.graph.node("MatMul", tokens, self.array(f"{name}.weight", (gives, reads), turned=True))
        bias = f"{name}.bias"
        if unbiased and self.prefix + bias not in self.arrays:
            return found
        return self.graph.node("Add", found, self.array(bias, (gives,)))

    def activated(self, hidden: str) -> str:
        """The activation between the two layers of a block."""
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
        """A constant that is not an array of the file."""
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
        """An array of the file, as a constant.

        Args:
            name: Its name after the prefix.
            shape: The needed shape.
            stored: Another shape in which it may be stored, of equal size.
            prefix: Another prefix.
            turned: Whether its two sides are swapped.
        """
        prefix = self.prefix if prefix is None else prefix
        numbers = self.numbers(name, shape, stored, prefix)
        return self.graph.constant(prefix + name, numbers.T if turned else numbers)

    def numbers(
        self, name: str, shape: tuple[int, ...], stored: tuple[int, ...] | None = None, prefix: str | None = None
    ) -> Weights:
        """An array of the file as 32-bit floats; RecipeError if it does not match the configuration."""
        full = (self.prefix if prefix is None else prefix) + name
        found = self.arrays.get(full)
        if found is None:
            raise RecipeError(f"{self.path}: no array {full}; expected weights that fit {self.config}")
        if found.shape not in (shape, stored):
            raise RecipeError(f"{self.path}: {full} is {list(found.shape)}; expected {list(shape)}, by {self.config}")
        if found.dtype.kind != "f":
            raise RecipeError(f"{self.path}: {full} is of type {found.dtype.name}; expected floats")
        weights: Weights = found.astype(np.float32).reshape(shape)
        if not np.isfinite(weights).all():
            raise RecipeError(f"{self.path}: {full} has numbers that are not finite; fetch or convert it again")
        return weights
