"""Vectors of captions: what the text tower of a dual encoder makes of them, or any encoder of texts.

A caption is measured as `text.embedding` measures a text, in one window. Beside vectors of pictures by the image tower
of the same model they say how well captions fit (`caption.alignment`).
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import pyarrow as pa

from winnow.filters.caption.lists import MEDIA, REASONS, captions_of, listed
from winnow.filters.models.text_encoders import Pooling
from winnow.filters.models.unit_vectors import VECTOR
from winnow.filters.operators import CAPTIONS, STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.filters.text.embedding import OPERATOR as OF_TEXTS
from winnow.filters.text.embedding import TextEmbeddingConfig
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between, NotEmpty

NAME: Final = "caption.embedding"
_MEASURES: Final = ("vector", "tokens", "truncated")

WRITES = pa.schema(
    [
        STATUS,
        pa.field("vector", pa.list_(VECTOR.type)),  # of each caption; null for one without tokens or numbers
        pa.field("tokens", pa.list_(pa.int32())),  # read by the model
        pa.field("truncated", pa.list_(pa.bool_())),  # whether the caption has more
    ]
)


@dataclass(frozen=True, slots=True)
class CaptionEmbeddingConfig:
    """Which captions are measured, and by what."""

    captions: Annotated[str, NotEmpty()] = CAPTIONS  # the recipe's, or a column with lists of captions
    model: str = ""  # the path of an ONNX file, or of a static model in safetensors; must be given
    tokenizer: str = ""  # the path of the model's tokenizer.json; must be given
    output: str = ""  # of a network: the output by name, such as text_embeds; the first by default
    pooling: Pooling = "mean"  # of a network that gives a vector for each token
    prefix: str = ""  # before each caption, as some encoders want
    max_tokens: Annotated[int, Between(2, 8_192)] = 77  # CLIP's, with special tokens


def embeddings(batch: pa.RecordBatch, config: CaptionEmbeddingConfig, kernel: Kernel) -> pa.RecordBatch:
    """The layer of a batch; `kernel` is that of `text.embedding`."""
    captions = captions_of(batch, config.captions)
    found = kernel(pa.RecordBatch.from_arrays([captions.composed()], [TEXT]))
    return listed(captions, WRITES, [found[name] for name in _MEASURES])


def _of_texts(config: CaptionEmbeddingConfig) -> TextEmbeddingConfig:
    return TextEmbeddingConfig(
        model=config.model,
        tokenizer=config.tokenizer,
        output=config.output,
        pooling=config.pooling,
        languages=("any",),
        prefix=config.prefix,
        max_tokens=config.max_tokens,
        max_windows=1,
    )


def _files(config: CaptionEmbeddingConfig) -> tuple[str, ...]:
    for key, what in (
        ("model", "an encoder of texts, such as the text tower's ONNX file"),
        ("tokenizer", "its tokenizer.json"),
    ):
        if not getattr(config, key):
            raise RecipeError(f"{NAME}: `{key}` is not set; expected the path of {what}")
    return config.model, config.tokenizer


def _load(config: CaptionEmbeddingConfig, assets: Assets) -> Kernel:
    _files(config)
    return partial(embeddings, config=config, kernel=OF_TEXTS.load(_of_texts(config), assets))


OPERATOR = TextOperator(
    name=NAME,
    version=1,
    summary="a vector for each caption, by the text tower of a dual encoder or another encoder of texts of your own",
    config=CaptionEmbeddingConfig,
    reads=lambda config: (config.captions, MEDIA),
    writes=lambda _: WRITES,
    load=_load,
    assets=_files,
    resource="model",
    needs=(MEDIA,),
    reasons=REASONS,
)
