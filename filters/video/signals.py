"""Signals: what one pass over a video tells the operators of `media.video`, as Arrow batches of a few kinds.

An operator names the signals that it needs. The pass decodes what all of them need together and gives each its batches
in order of time. A signal's values depend on the video and the signal alone, never on what else was asked for.

Times are ticks of the stream's time base, and seconds since `VideoFacts.start_ticks`. Frames come in the order in which
they are shown. A frame without a time, or with one that is not after the last frame's, is shown when the last one ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

import pyarrow as pa

from winnow.filters.operators import IMAGES

__all__ = [
    "BLOCK_SECONDS",
    "CHROMA_COLUMNS",
    "CHROMA_ROWS",
    "LUMA_COLUMNS",
    "LUMA_ROWS",
    "PATCH_COLUMNS",
    "PATCH_ROWS",
    "SCHEMAS",
    "Kind",
    "Signal",
    "VideoFacts",
    "Watcher",
]

Kind: TypeAlias = Literal["packets", "frames", "vectors", "stills", "hashes", "sound"]

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
            ),  # mean speed of each
        ]
    ),
    "stills": pa.schema([*_TIME, *IMAGES]),  # as `IMAGES`; `bytes` is that of the packet, `frames` is null
    "hashes": pa.schema(  # the first frame of every second
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
        ]
    ),
}
"""The columns of each kind."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What an operator asks for.

    Attributes:
        kind: The columns of its batches.
        side: Of stills: to what the longer side is shrunk; None for every pixel.
        seconds: Of stills: one picture in so many seconds; None for keyframes, which cost a fraction of a full decode.
    """

    kind: Kind
    side: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """What a pass knows of a video at its end, from its headers, packets and first keyframe: nothing is believed that
    can be counted.

    Attributes:
        container: The name of its format, such as `mov` or `matroska`.
        streams: Of all kinds.
        codec: Of the pictures.
        profile: Of the codec; None if it has none.
        pixel_format: Of the first keyframe.
        width: Of the first keyframe, upright.
        height: The same.
        rotation: How far its pictures are turned clockwise to be upright: 0, 90, 180 or 270.
        numerator: Of the time base: a tick takes numerator / denominator seconds.
        denominator: The same.
        start_ticks: When the first frame is shown.
        end_ticks: When the last frame ends.
        frames: Packets of pictures that are shown.
        keyframes: How many of them need no other.
        variable: Whether the time from frame to frame varies by more than a tick or a thousandth.
        damaged: Packets that could not be read or decoded.
        picture_bytes: Of all packets of pictures.
        claimed_seconds: What the file says it lasts; None if it says nothing.
        sound_codec: None for a video without sound.
        sound_rate: Samples a second.
        sound_channels: How many.
        sound_bytes: Of all packets of sound.
        sound_seconds: What its packets last.
        subtitles: Streams of subtitles.
    """

    container: str
    streams: int
    codec: str
    profile: str | None
    pixel_format: str
    width: int
    height: int
    rotation: int
    numerator: int
    denominator: int
    start_ticks: int
    end_ticks: int
    frames: int
    keyframes: int
    variable: bool
    damaged: int
    picture_bytes: int
    claimed_seconds: float | None
    sound_codec: str | None
    sound_rate: int | None
    sound_channels: int | None
    sound_bytes: int
    sound_seconds: float
    subtitles: int

    @property
    def seconds(self) -> float:
        """From the first frame to the end of the last."""
        return (self.end_ticks - self.start_ticks) * self.numerator / self.denominator

    def seconds_at(self, ticks: int) -> float:
        """A time in seconds since the first frame."""
        return (ticks - self.start_ticks) * self.numerator / self.denominator


class Watcher(Protocol):
    """Measures one video from its signals."""

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Takes the next batch of one of the signals that the operator asked for, which may be empty of rows."""

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """One row with the operator's `writes`."""
