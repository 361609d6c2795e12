"""PDQ hashes of pictures: equal or close for copies that were resized or recompressed, far apart for others."""

from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from winnow.filters.duplicates.perceptual.pdq import pdq
from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.operators import PictureOperator

WRITES = pa.schema(
    [
        pa.field("hash", pa.binary(32)),
        pa.field("quality", pa.int16()),  # from 0 to 100; below 50 a hash means little
    ]
)


@dataclass(frozen=True, slots=True)
class PdqConfig:
    """No options: hashes are comparable only if they were made alike."""


def hashes(batch: pa.RecordBatch, _config: PdqConfig) -> pa.RecordBatch:
    """The hash and the quality of every picture of `winnow.filters.operators.IMAGES`."""
    found = [pdq(pixels) for pixels in pixels_of(batch)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([one.bits for one in found], WRITES.field("hash").type),
            pa.array([one.quality for one in found], WRITES.field("quality").type),
        ],
        schema=WRITES,
    )


OPERATOR = PictureOperator(
    name="image.pdq",
    version=1,
    summary="PDQ hash of each picture and its quality, for near-duplicates",
    config=PdqConfig,
    writes=lambda _: WRITES,
    load=lambda config, _assets: partial(hashes, _config=config),
)
