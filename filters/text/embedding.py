"""Embeddings of texts: vectors that are close for texts of close meaning.

By default those of WordLlama, a static model from a published package, which knows English; or those of any static
model in safetensors, or of any encoder in an ONNX file, each with its `tokenizer.json`.

The default's vectors of other languages say nothing: any two texts in Bengali have a cosine of about .99. So a text in
a language that the model was not made for has none.

A text is read from its beginning, up to `max_bytes` and `max_windows` windows of `max_tokens`, and its vector is the
mean of its tokens' (of its windows', weighed by their tokens). Vectors have unit length and are rounded to multiples of
1/4096. Values of static models are the same everywhere; those of networks are pinned (law 4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.models.covered_languages import (
    ANY,
    LANGUAGE,
    NO_LANGUAGE,
    check_languages,
    covered,
    language_statuses,
)
from winnow.filters.models.formats import format_of
from winnow.filters.models.static_vectors import StaticModel
from winnow.filters.models.text_encoders import Pooling, TextEncoder
from winnow.filters.models.text_windows import Tokenizer
from winnow.filters.models.unit_vectors import NO_FEATURES, NOT_FINITE, VECTOR, unit_vectors, vector_column
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.assets import Asset
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

NAME = "text.embedding"
NO_TOKENS = "no_tokens"
"""The model knows nothing in the text."""
OTHER_LANGUAGE = "other_language"
"""The model was not made for the text's language."""

WRITES = pa.schema(
    [
        STATUS,
        VECTOR,
        pa.field("tokens", pa.int32()),  # read by the model: of few tokens, a vector says little
        pa.field("truncated", pa.bool_()),  # whether the text has more
    ]
)

_PACKAGE: Final = "wordllama==0.4.0.post1"
WORDLLAMA: Final = Asset(
    name="wordllama",
    summary="WordLlama's vectors of 32,000 tokens, 256 numbers each, for text.embedding: English",
    registry="pip",
    package=_PACKAGE,
    member="wordllama/weights/l2_supercat_256.safetensors",
    size_bytes=16_384_096,
    sha256="64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    licence="MIT",
    optional=True,
)
TOKENIZER: Final = Asset(
    name="wordllama.tokenizer",
    summary="its tokenizer",
    registry="pip",
    package=_PACKAGE,
    member="wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    size_bytes=1_842_796,
    sha256="93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    licence="MIT",
    optional=True,
)

_GROUP_ROWS: Final = 1024
_GROUP_BYTES: Final = 256 << 10  # tokens take up to 300 times as much
_EXPECTED: Final = "expected a static model in safetensors, or an encoder in an ONNX file"


@dataclass(frozen=True, slots=True)
class TextEmbeddingConfig:
    """The model, and how much of a text it reads."""

    model: str = WORDLLAMA.name  # or the path of a static model in safetensors, or of an ONNX file
    tokenizer: str = ""  # the path of the model's tokenizer.json
    output: str = ""  # of a network: the output by name; the first by default
    pooling: Pooling = "mean"  # of a network that gives a vector for each token: their mean, the first or the last
    languages: tuple[str, ...] = ()  # as ISO 639-3, or [any]; by default [eng] for wordllama and [any] for other models
    prefix: str = ""  # before each text, as some encoders want, such as `query: `
    max_tokens: Annotated[int, Between(2, 8_192)] = 512  # per window, with special tokens
    max_windows: Annotated[int, Between(1, 1_000)] = 4  # from the beginning
    max_bytes: Annotated[int, Between(1, 2 << 20)] = 16_384  # of each text's beginning that is tokenized

    def __post_init__(self) -> None:
        check_languages(self.languages)


class _Encoder(Protocol):
    """A model that gives texts features, the number of their tokens, and whether they had more."""

    def features(self, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.bool_]]: ...


def embeddings(batch: pa.RecordBatch, config: TextEmbeddingConfig, encoder: _Encoder) -> pa.RecordBatch:
    """The layer of a batch of texts; no text is decoded beyond `max_bytes`."""
    known = _languages(config)
    statuses = ["ok"] * len(batch) if known is None else language_statuses(batch[LANGUAGE], known, OTHER_LANGUAGE)
    read = pa.array([status == "ok" for status in statuses], pa.bool_())
    parts = [_measured(*group, encoder) for group in _groups(batch[TEXT].filter(read), config)]
    found = pa.concat_batches(parts or [pa.RecordBatch.from_pylist([], schema=WRITES)])
    numbers = np.cumsum(read.to_numpy(zero_copy_only=False)) - 1
    spread = [column.take(pc.if_else(read, numbers, None)) for column in found.columns]
    spread[0] = pc.coalesce(spread[0], pa.array(statuses, pa.string()))
    return pa.RecordBatch.from_arrays(spread, schema=WRITES)


def _measured(texts: list[str], beyond: list[bool], encoder: _Encoder) -> pa.RecordBatch:
    features, tokens, truncated = encoder.features(texts)
    statuses, vectors = unit_vectors(features)
    statuses = [status if count else NO_TOKENS for status, count in zip(statuses, tokens.tolist(), strict=True)]
    absent = np.array([status != "ok" for status in statuses], np.bool_)
    columns = [
        pa.array(statuses, pa.string()),
        vector_column(statuses, vectors),
        pa.array(tokens, pa.int32(), mask=absent),
        pa.array(truncated | np.array(beyond, np.bool_), pa.bool_(), mask=absent),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _groups(texts: pa.LargeStringArray, config: TextEmbeddingConfig) -> Iterator[tuple[list[str], list[bool]]]:
    """The beginnings of texts, and whether each text has more, in groups that are small in memory."""
    group: list[str] = []
    beyond: list[bool] = []
    size = 0
    for text in texts:
        content = memoryview(text.as_buffer())
        head = bytes(content[: config.max_bytes])
        start = head.decode("utf-8", "ignore")
        group.append(config.prefix + start if start.strip() else "")  # white space says nothing
        beyond.append(len(content) > len(head))
        size += len(head)
        if len(group) == _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group, beyond
            group, beyond, size = [], [], 0
    if group:
        yield group, beyond


def _languages(config: TextEmbeddingConfig) -> frozenset[str] | None:
    own = ("eng",) if config.model == WORDLLAMA.name else (ANY,)
    return covered(config.languages or own)


def _assets(config: TextEmbeddingConfig) -> tuple[str, ...]:
    own = TOKENIZER.name if config.model == WORDLLAMA.name else ""
    return tuple(filter(None, (config.model, config.tokenizer or own)))


def _encoder(config: TextEmbeddingConfig, path: str, tokenizer: str) -> _Encoder:
    if format_of(path, _EXPECTED) == "safetensors":
        if config.output or config.pooling != "mean":
            raise RecipeError(
                f"{path}: a static model has no `output` and no `pooling`; remove them (they are for ONNX)"
            )
        return StaticModel(NAME, path, tokenizer, config.max_tokens * config.max_windows)
    room = config.max_bytes + len(config.prefix.encode())
    windows = Tokenizer(NAME, tokenizer, config.max_tokens, config.max_windows, room)
    return TextEncoder(NAME, path, windows, config.max_tokens, config.output, config.pooling)


def _load(config: TextEmbeddingConfig, assets: Assets) -> Kernel:
    model, *tokenizer = (assets.path(name) for name in _assets(config))
    if not tokenizer:
        raise RecipeError(f"{NAME}: `tokenizer` is not set; expected the path of the model's tokenizer.json")
    encoder = _encoder(config, model, *tokenizer)
    return lambda batch: embeddings(batch, config, encoder)


OPERATOR = TextOperator(
    name=NAME,
    version=1,
    summary="a vector for each text, close for texts of close meaning: by WordLlama (English) or a model of your own",
    config=TextEmbeddingConfig,
    reads=lambda config: (TEXT,) if _languages(config) is None else (TEXT, LANGUAGE),
    writes=lambda _: WRITES,
    load=_load,
    assets=_assets,
    declares=(WORDLLAMA, TOKENIZER),
    resource="model",
    languages=_languages,
    reasons=(NO_LANGUAGE, OTHER_LANGUAGE, NO_TOKENS, NOT_FINITE, NO_FEATURES),
)
