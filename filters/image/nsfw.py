"""How likely pictures are pornographic, by class: by a packaged classifier or the user's own.

Five probabilities from the InceptionV3 of nsfwjs. Its authors report 93 % correct on their own test pictures; here only
benign pictures were examined (docs/reference/picture-models.md). Use the scores with a margin, and never one as a
verdict on its own. Values are pinned (law 4) and rounded before they are written.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.models.pictures.framing import Framing
from winnow.filters.models.pictures.networks import PictureNetwork
from winnow.filters.models.pictures.nsfwjs import CLASSES, FRAMING, MODEL
from winnow.filters.models.pictures.open_nsfw import MODEL as OPEN_NSFW
from winnow.filters.models.unit_vectors import NOT_FINITE
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.errors import RecipeError

NAME = "image.nsfw"
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True)
class NsfwConfig:
    """The classifier, and which of its classes are unsafe."""

    model: str = MODEL.name  # or the path of an ONNX file
    output: str = ""  # the network's output by name; the first by default
    classes: tuple[str, ...] = CLASSES  # the meaning of its numbers, in order
    unsafe: tuple[str, ...] = ("hentai", "porn")  # their sum is `score`
    framing: Framing = field(default_factory=lambda: FRAMING)


def writes(config: NsfwConfig) -> pa.Schema:
    """The sum of the unsafe classes, and each class."""
    return pa.schema([STATUS, *(pa.field(name, pa.float32()) for name in ("score", *config.classes))])


def nsfw(batch: pa.RecordBatch, config: NsfwConfig, network: PictureNetwork) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    unsafe = [config.classes.index(name) for name in config.unsafe]
    scores = np.zeros((batch.num_rows, len(config.classes)), np.float64)
    for number, pixels in enumerate(pixels_of(batch)):  # about 100 ms each
        (found,) = network(pixels)
        scores[number] = found.reshape(-1)
    absent = ~np.isfinite(scores).all(axis=1)
    columns = np.column_stack([scores[:, unsafe].sum(axis=1), scores]).round(_DECIMALS).astype(np.float32)
    statuses = pa.array(np.where(absent, NOT_FINITE, "ok").tolist(), pa.string())
    return pa.RecordBatch.from_arrays(
        [statuses, *(pa.array(column, mask=absent) for column in columns.T)], schema=writes(config)
    )


def _load(config: NsfwConfig, assets: Assets) -> Kernel:
    path = assets.path(config.model)
    if unknown := [name for name in config.unsafe if name not in config.classes]:
        raise RecipeError(f"{NAME}: `unsafe` names {unknown[0]}, which is not among `classes`: {list(config.classes)}")
    if len({*config.classes, "score", "status", "items"}) != len(config.classes) + 3:
        raise RecipeError(
            f"{NAME}: `classes` are {list(config.classes)}; expected different names, none of them `score`"
        )
    network = PictureNetwork(NAME, path, config.framing, (config.output,) if config.output else ())
    numbers = int(np.prod(network.shapes[0], dtype=np.int64))
    if numbers != len(config.classes):
        raise RecipeError(
            f"{path}: the network gives {numbers} numbers for a picture; `classes` has {len(config.classes)}"
        )
    return partial(nsfw, config=config, network=network)


OPERATOR = PictureOperator(
    name=NAME,
    version=1,
    summary="how likely each picture is porn, hentai, sexy, a drawing or neutral",
    config=NsfwConfig,
    writes=writes,
    load=_load,
    side=lambda config: config.framing.decoded_side,
    assets=lambda config: (config.model,),
    declares=(MODEL, OPEN_NSFW),
    resource="model",
    reasons=(NOT_FINITE,),
    detects=lambda _: {"score": "sexual.picture"},
)
