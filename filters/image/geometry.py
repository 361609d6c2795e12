"""Size, shape, compression and frames of pictures."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from winnow.filters.operators import NO_PIXELS, PictureOperator

WRITES = pa.schema(
    [
        pa.field("width", pa.int32()),  # upright
        pa.field("height", pa.int32()),
        pa.field("shorter", pa.int32()),
        pa.field("longer", pa.int32()),
        pa.field("aspect", pa.float64()),  # the longer side over the shorter: 1 for a square
        pa.field("bytes", pa.int64()),  # of the file
        pa.field("bytes_per_pixel", pa.float64()),
        pa.field("frames", pa.int32()),  # of the file: more than one is an animation, or pages; null if unknown
    ]
)


@dataclass(frozen=True, slots=True)
class GeometryConfig:
    """No options."""


def geometry(batch: pa.RecordBatch, _config: GeometryConfig) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    width, height = (batch.column(name).to_numpy() for name in ("width", "height"))
    shorter, longer = np.minimum(width, height), np.maximum(width, height)
    size = batch.column("bytes")
    per_pixel = size.to_numpy() / (width.astype(np.float64) * height)
    columns = [width, height, shorter, longer, longer / shorter, size, per_pixel, batch.column("frames")]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=WRITES)


OPERATOR = PictureOperator(
    name="image.geometry",
    version=2,
    summary="width, height, aspect, bytes and frames of each picture",
    config=GeometryConfig,
    writes=lambda _: WRITES,
    load=lambda config, _assets: partial(geometry, _config=config),
    side=lambda _: NO_PIXELS,
)
