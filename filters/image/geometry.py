"""Size, shape and compression of pictures."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from winnow.filters.operators import MEDIA_IMAGE, Assets, Kernel, Operator

WRITES = pa.schema(
    [
        pa.field("width", pa.int32()),  # upright
        pa.field("height", pa.int32()),
        pa.field("shorter", pa.int32()),
        pa.field("aspect", pa.float64()),  # the longer side over the shorter: 1 for a square
        pa.field("bytes_per_pixel", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class GeometryConfig:
    """Nothing to set."""


def geometry(batch: pa.RecordBatch, _config: GeometryConfig) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    width, height = (batch.column(name).to_numpy() for name in ("width", "height"))
    shorter, longer = np.minimum(width, height), np.maximum(width, height)
    per_pixel = batch.column("bytes").to_numpy() / (width.astype(np.float64) * height)
    columns = [width, height, shorter, longer / shorter, per_pixel]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=WRITES)


def _load(config: GeometryConfig, _assets: Assets) -> Kernel:
    return partial(geometry, _config=config)


OPERATOR = Operator(
    name="image.geometry",
    version=1,
    summary="width, height, aspect and bytes per pixel of each picture",
    config=GeometryConfig,
    reads=lambda _: (MEDIA_IMAGE,),
    writes=lambda _: WRITES,
    load=_load,
    needs=(),
    side=lambda _: 1,
)
