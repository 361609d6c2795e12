"""Embeddings of videos: the mean of their frames' embeddings, by the kernel of `image.embedding`.

The mean has unit length and is rounded like the vectors of pictures, so heads, classifiers and Grad-Mimic read it in
the same way: `image.aesthetic: {embedding: video.embedding}`. The distances of frames from it show how much a video
changes.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from winnow.filters.image.embedding import OPERATOR as OF_PICTURES
from winnow.filters.image.embedding import EmbeddingConfig
from winnow.filters.models.unit_vectors import VECTOR, unit_vector
from winnow.filters.operators import STATUS, Assets, Kernel
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.stills.frames_operator import (
    FRAMES,
    NO_FRAMES,
    SECONDS,
    FrameChoice,
    FrameWatcher,
    measure_frames,
)

WRITES = pa.schema(
    [
        STATUS,
        FRAMES,
        SECONDS,
        VECTOR,  # the mean of the frames' vectors, of unit length
        pa.field("similarity", pa.list_(pa.float32())),  # the cosine of each frame's vector with it
        pa.field("similarity_mean", pa.float32()),
        pa.field("similarity_worst", pa.float32()),  # the lowest: near 1 if all frames show the same
    ]
)

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class EmbeddingOfFrames(FrameChoice):
    """The settings of `image.embedding`, and which frames are measured."""

    image: EmbeddingConfig = field(default_factory=EmbeddingConfig)


def _measured(frames: pa.RecordBatch, seconds: pa.Array, kernel: Kernel) -> pa.RecordBatch:
    found = measure_frames(frames, kernel)
    row: dict[str, Any] = {STATUS.name: found.status, FRAMES.name: len(frames), SECONDS.name: seconds.to_pylist()}
    if found.status == "ok":
        good = found.good.to_numpy(zero_copy_only=False)
        vectors = np.stack(found.rows["vector"].drop_null().to_pylist()).astype(np.float64)
        row[STATUS.name], mean = unit_vector(vectors.mean(axis=0).astype(np.float32))
        if row[STATUS.name] == "ok":
            cosines = np.full(len(good), np.nan)
            cosines[good] = np.round(vectors @ mean.astype(np.float64), _DECIMALS)
            row |= {"vector": mean.tolist(), "similarity": [None if np.isnan(one) else one for one in cosines.tolist()]}
            row |= {"similarity_mean": round(float(cosines[good].mean()), _DECIMALS)}
            row |= {"similarity_worst": float(cosines[good].min())}
    return pa.RecordBatch.from_pylist([row], schema=WRITES)


def _load(config: EmbeddingOfFrames, assets: Assets) -> partial[FrameWatcher]:
    kernel = OF_PICTURES.load(config.image, assets)
    return partial(FrameWatcher, config.max_frames, partial(_measured, kernel=kernel))


OPERATOR = VideoOperator(
    name="video.embedding",
    version=1,
    summary="a vector for each video, the mean of its frames', by EfficientNet-lite0 or an encoder of your own",
    config=EmbeddingOfFrames,
    writes=lambda _: WRITES,
    wants=lambda config: config.stills(OF_PICTURES.side(config.image)),
    load=_load,
    assets=lambda config: OF_PICTURES.assets(config.image),
    declares=OF_PICTURES.declares,
    resource=OF_PICTURES.resource,
    reasons=(NO_FRAMES, *OF_PICTURES.reasons),
)
