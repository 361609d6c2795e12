"""Facts of a video's container and packets: codecs, exact duration, frame rate, sound.

Everything is counted from the packets; what the header declares is stored beside it (`declared_seconds`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from winnow.filters.operators import Assets
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import REASONS
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.filters.video.decode.signal_requests import Signal

WRITES = pa.schema(
    [
        pa.field("container", pa.string()),
        pa.field("codec", pa.string()),
        pa.field("profile", pa.string()),
        pa.field("pixel_format", pa.string()),
        pa.field("interlaced", pa.bool_()),  # whether the first frame consists of two fields
        pa.field("width", pa.int32()),  # of the first frame, as stored
        pa.field("height", pa.int32()),
        pa.field("orientation", pa.int32()),  # EXIF's number, 1 to 8
        pa.field("pixel_aspect", pa.float64()),
        pa.field("seconds", pa.float64()),
        pa.field("declared_seconds", pa.float64()),
        pa.field("start_ticks", pa.int64()),
        pa.field("duration_ticks", pa.int64()),
        pa.field("ticks_numerator", pa.int64()),  # a tick takes numerator / denominator seconds
        pa.field("ticks_denominator", pa.int64()),
        pa.field("frames", pa.int64()),
        pa.field("keyframes", pa.int64()),
        pa.field("frames_per_second", pa.float64()),
        pa.field("declared_frames_per_second", pa.float64()),  # from the codec, or Matroska's per frame
        pa.field("variable_rate", pa.bool_()),
        pa.field("longest_frame", pa.float64()),  # in seconds, like all below
        pa.field("longest_gop", pa.float64()),
        pa.field("bits_per_second", pa.float64()),  # of the video stream
        pa.field("untimed_packets", pa.int64()),
        pa.field("leaps", pa.int64()),  # impossible times, and pauses that contradict the declared duration
        pa.field("corrupt_packets", pa.int64()),
        pa.field("streams", pa.int32()),
        pa.field("audio_streams", pa.int32()),
        pa.field("subtitle_streams", pa.int32()),
        pa.field("audio_codec", pa.string()),  # of the sound; null without sound, like all below
        pa.field("audio_channels", pa.int32()),
        pa.field("audio_rate", pa.int32()),
        pa.field("audio_seconds", pa.float64()),
        pa.field("audio_packet_seconds", pa.float64()),  # the sum of its packets' durations, whatever their times
        pa.field("audio_starts_after", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class StreamsConfig:
    """No options."""


class StreamsWatcher:
    """Needs no signals: the facts are counted in any case."""

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Ignores the signal."""

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The facts as a row."""
        tick, sound = facts.time_base, facts.sound
        row = {
            "container": facts.container,
            "codec": facts.codec,
            "profile": facts.profile or None,
            "pixel_format": facts.pixel_format,
            "interlaced": facts.interlaced,
            "width": facts.width,
            "height": facts.height,
            "orientation": facts.orientation,
            "pixel_aspect": float(facts.pixel_aspect),
            "seconds": facts.seconds,
            "declared_seconds": facts.declared_seconds,
            "start_ticks": facts.start,
            "duration_ticks": facts.duration,
            "ticks_numerator": tick.numerator,
            "ticks_denominator": tick.denominator,
            "frames": facts.frames,
            "keyframes": facts.keyframes,
            "frames_per_second": facts.frames_per_second if facts.duration > 0 else None,
            "declared_frames_per_second": None if facts.declared_rate is None else float(facts.declared_rate),
            "variable_rate": facts.is_variable,
            "longest_frame": float(facts.longest_frame * tick),
            "longest_gop": float(facts.longest_gop * tick),
            "bits_per_second": 8 * facts.bytes / facts.seconds if facts.duration > 0 else None,
            "untimed_packets": facts.untimed,
            "leaps": facts.leaps,
            "corrupt_packets": facts.corrupt,
            "streams": facts.streams,
            "audio_streams": facts.audio_streams,
            "subtitle_streams": facts.subtitle_streams,
            "audio_codec": None if sound is None else sound.codec,
            "audio_channels": None if sound is None else sound.channels,
            "audio_rate": None if sound is None else sound.rate,
            "audio_seconds": None if sound is None else sound.seconds,
            "audio_packet_seconds": None if sound is None else sound.packet_seconds,
            "audio_starts_after": None if sound is None else sound.starts_after,
        }
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def load(_config: StreamsConfig, _assets: Assets) -> Callable[[], Watcher]:
    """The watchers' factory."""
    return StreamsWatcher


OPERATOR = VideoOperator(
    name="video.streams",
    version=5,
    summary="container, codecs, exact duration, rate of frames, keyframes and sound of a video",
    config=StreamsConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset(),
    load=load,
    reasons=REASONS,
)
