"""Embeddings of pictures: vectors from a network's features, close for pictures that show the same.

By default those of EfficientNet-lite0, from a published package, trained to recognise 1,000 classes; with the preset
`copies@sscd` those of a network made for finding copies; or those of any encoder in an ONNX file, or of a vision
transformer's weights in safetensors. Vectors have unit length and are rounded to multiples of 1/4096, which changes a
cosine by about 10⁻⁵. Values are pinned (law 4).
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Final

import numpy as np
import pyarrow as pa

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.models.formats import format_of
from winnow.filters.models.pictures.efficientnet import FEATURES
from winnow.filters.models.pictures.framing import Framing
from winnow.filters.models.pictures.networks import PictureNetwork
from winnow.filters.models.pictures.sscd import MODEL as SSCD
from winnow.filters.models.pictures.vision_transformers import encoder_of
from winnow.filters.models.unit_vectors import NO_FEATURES, NOT_FINITE, VECTOR, unit_vector, vector_column
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.efficientnet import DEVIATION, MEAN, POOLED, SIDE
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

NAME = "image.embedding"
WRITES = pa.schema([STATUS, VECTOR])  # of `dimensions` numbers
_PUBLISHED: Final = Framing(SIDE, "crop", mean=(MEAN,) * 3, deviation=(DEVIATION,) * 3)


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """The encoder, and its input."""

    model: str = FEATURES.name  # or the path of an ONNX file, or of weights in safetensors
    output: str = ""  # the network's output by name; the first by default
    dimensions: Annotated[int, Between(2, 16_384)] = POOLED
    framing: Framing = field(default_factory=lambda: _PUBLISHED)
    config: str = ""  # with safetensors: the path of their `config.json`, as written by `transformers`


def embeddings(batch: pa.RecordBatch, config: EmbeddingConfig, network: PictureNetwork) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    statuses = []
    vectors = np.zeros((batch.num_rows, config.dimensions), np.float32)
    for number, pixels in enumerate(pixels_of(batch)):  # about 10 ms each
        (found,) = network(pixels)
        status, vectors[number] = unit_vector(found.reshape(-1))
        statuses.append(status)
    columns = [pa.array(statuses, pa.string()), vector_column(statuses, vectors)]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _load(config: EmbeddingConfig, assets: Assets) -> Kernel:
    path = assets.path(config.model)
    expected = "expected an ONNX file, or weights in safetensors with `config`"
    content = None
    if format_of(path, expected) == "safetensors":
        if not config.config:
            raise RecipeError(
                f"{path}: only weights; set `config` to the `config.json` beside them, or use an ONNX file"
            )
        content = encoder_of(path, assets.path(config.config))
    elif config.config:
        raise RecipeError(f"{path}: an ONNX file needs no `config`; remove it (it is for safetensors)")
    network = PictureNetwork(NAME, path, config.framing, (config.output,) if config.output else (), content)
    numbers = int(np.prod(network.shapes[0], dtype=np.int64))
    if max(network.shapes[0], default=0) != numbers:
        shape = list(network.shapes[0])
        raise RecipeError(f"{path}: the output for a picture is of shape {shape}; expected one vector: set `output`")
    if numbers != config.dimensions:
        raise RecipeError(f"{path}: the network gives {numbers} numbers for a picture; set `dimensions` to {numbers}")
    return partial(embeddings, config=config, network=network)


OPERATOR = PictureOperator(
    name=NAME,
    version=1,
    summary="a vector for each picture, by EfficientNet-lite0 or an encoder of your own",
    config=EmbeddingConfig,
    writes=lambda _: WRITES,
    load=_load,
    side=lambda config: config.framing.decoded_side,
    assets=lambda config: (config.model, config.config) if config.config else (config.model,),
    declares=(FEATURES, SSCD),
    resource="model",
    reasons=(NOT_FINITE, NO_FEATURES),
)
