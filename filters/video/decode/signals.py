"""The columns of signals: what one pass over a video tells the watchers of operators, as Arrow batches of a few kinds.

Times are ticks of the stream's time base, and seconds since the first frame (`VideoFacts.start`). Frames come in the
order in which they are shown. A frame without a time, or with one that is not after the last frame's, is shown when the
last one ends.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import IMAGES
from winnow.filters.video.decode.wanted import Kind

__all__ = [
    "BLOCK_SECONDS",
    "CHROMA_COLUMNS",
    "CHROMA_ROWS",
    "LUMA_COLUMNS",
    "LUMA_ROWS",
    "PATCH_COLUMNS",
    "PATCH_ROWS",
    "SCHEMAS",
    "small_planes",
]

LUMA_COLUMNS: Final = 64
LUMA_ROWS: Final = 36
CHROMA_COLUMNS: Final = 32
CHROMA_ROWS: Final = 18
"""The sides of small planes, whatever the picture's shape: cells tile it, each the mean of its pixels."""

PATCH_COLUMNS: Final = 16
PATCH_ROWS: Final = 9
"""The parts of a picture whose motion is told apart."""

BLOCK_SECONDS: Final = 0.1
"""The length of a block of sound: the step of BS.1770's gating blocks."""

_TIME = (
    pa.field("ticks", pa.int64(), nullable=False),
    pa.field("seconds", pa.float64(), nullable=False),
)

SCHEMAS: Final[Mapping[Kind, pa.Schema]] = {
    "packets": pa.schema(  # of the pictures, in the order of the file; nothing is decoded
        [
            *_TIME,
            pa.field("duration", pa.int64(), nullable=False),  # in ticks; 0 if unknown
            pa.field("bytes", pa.int64(), nullable=False),
            pa.field("key", pa.bool_(), nullable=False),
        ]
    ),
    "frames": pa.schema(  # every frame
        [
            *_TIME,
            pa.field("duration", pa.int64(), nullable=False),  # in ticks, as the file says; 0 if unknown
            pa.field("key", pa.bool_(), nullable=False),
            pa.field("width", pa.int32(), nullable=False),  # as stored; it may change in mid-stream
            pa.field("height", pa.int32(), nullable=False),
            pa.field("mean", pa.float32(), nullable=False),  # of luma, where 0 is black and 255 white
            pa.field("deviation", pa.float32(), nullable=False),  # of luma
            pa.field("dark", pa.float32(), nullable=False),  # share of pixels that are nearly black
            pa.field("change", pa.float32()),  # mean difference of luma from the last frame's; null for another size
            pa.field("luma", pa.binary(LUMA_ROWS * LUMA_COLUMNS), nullable=False),
            pa.field("cb", pa.binary(CHROMA_ROWS * CHROMA_COLUMNS), nullable=False),
            pa.field("cr", pa.binary(CHROMA_ROWS * CHROMA_COLUMNS), nullable=False),
        ]
    ),
    "vectors": pa.schema(  # frames that a codec with motion vectors predicts from others
        [
            *_TIME,
            pa.field("covered", pa.float32(), nullable=False),  # share of the picture that is predicted
            pa.field("speed", pa.float32(), nullable=False),  # mean, in widths of the picture a second
            pa.field("right", pa.float32(), nullable=False),  # mean velocity, in widths a second
            pa.field("down", pa.float32(), nullable=False),
            pa.field(
                "patches", pa.list_(pa.float32(), PATCH_ROWS * PATCH_COLUMNS), nullable=False
            ),  # the speed of each; NaN where it is not predicted
        ]
    ),
    "stills": pa.schema([*_TIME, *IMAGES]),  # as `IMAGES`; `bytes` is that of the packet, `frames` is null
    "hashes": pa.schema(  # the first frame of every quarter of a second
        [
            *_TIME,
            pa.field("hash", pa.binary(32), nullable=False),  # PDQ, of luma
            pa.field("quality", pa.int16(), nullable=False),
        ]
    ),
    "sound": pa.schema(  # blocks of `BLOCK_SECONDS`; the last may be shorter
        [
            pa.field("seconds", pa.float64(), nullable=False),  # since the beginning of the sound
            pa.field("samples", pa.int32(), nullable=False),  # of each channel
            pa.field("rate", pa.int32(), nullable=False),
            pa.field("weighted", pa.float64(), nullable=False),  # K-weighted power, channels added up as BS.1770 says
            pa.field("power", pa.float64(), nullable=False),  # mean square of the samples of all channels
            pa.field("peak", pa.float32(), nullable=False),  # largest sample, where 1 is full scale
            pa.field("quiet_start", pa.int32(), nullable=False),  # samples before the first that is not quiet
            pa.field("quiet_end", pa.int32(), nullable=False),  # samples behind the last that is not quiet
        ]
    ),
    "subtitles": pa.schema(  # texts, in the order of the file
        [
            pa.field("stream", pa.int32(), nullable=False),
            pa.field("is_default", pa.bool_(), nullable=False),  # whether the file has it shown if nobody chooses
            pa.field("language", pa.string()),  # as the file says
            pa.field("seconds", pa.float64(), nullable=False),  # since the first frame
            pa.field("end", pa.float64(), nullable=False),
            pa.field("text", pa.string(), nullable=False),  # lines without markup
        ]
    ),
}
"""The columns of each kind."""


def small_planes(column: pa.FixedSizeBinaryArray, rows: int, columns: int) -> NDArray[np.uint8]:
    """The small planes of frames, as rows of cells each, without a copy."""
    size = rows * columns
    held = np.frombuffer(column.buffers()[1], np.uint8)
    return held[column.offset * size : (column.offset + len(column)) * size].reshape(len(column), rows, columns)
