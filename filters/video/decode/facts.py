"""Facts from the packets of a video and its first frame: `VideoFacts`, counted by `packet_counts.py`.

Times are in ticks of the video stream's own time base. Declared values are not used where they can be measured: the
duration is that of the packets, the size that of the first decoded frame.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

PASS: Final = 9
"""Which version of the pass: it goes up when the facts or signals of any video change."""


@dataclass(frozen=True, slots=True)
class SoundFacts:
    """The first audio stream."""

    codec: str
    channels: int
    rate: int  # samples per second
    seconds: float  # from its first packet to the end of its last
    packet_seconds: float  # the sum of its packets' durations, whatever their times
    starts_after: float  # seconds from the first frame to the first sound; negative if the sound begins earlier


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """The main video stream, its container, and its sound."""

    container: str  # FFmpeg's name: mov, matroska, mpegts, mpeg, avi, ogg, flv, asf …
    streams: int
    codec: str
    profile: str  # empty if the codec has none
    pixel_format: str
    interlaced: bool  # whether the first decoded frame consists of two fields
    width: int  # as stored: of the first decoded frame
    height: int
    pixel_aspect: Fraction  # width of a pixel by its height; 1 by default
    orientation: int  # EXIF's number, 1 to 8: the rotation by the display matrix
    time_base: Fraction  # seconds per tick
    start: int  # ticks of the first shown frame
    duration: int  # ticks from there to the end of the last frame
    frames: int  # shown ones
    keyframes: int
    shortest_frame: int  # ticks between neighbouring frames
    longest_frame: int
    held: int  # ticks for which frames are shown beyond their first minute
    longest_gop: int  # ticks between neighbouring keyframes, or to the end
    untimed: int  # packets without a usable time
    leaps: int  # impossible times, and pauses that contradict the container's duration
    corrupt: int  # packets that the demuxer reports as damaged
    bytes: int  # of the video stream's packets
    declared_seconds: float | None  # by the container
    declared_rate: Fraction | None  # frames per second in the codec's header, or Matroska's per frame
    audio_streams: int
    subtitle_streams: int
    sound: SoundFacts | None

    @property
    def seconds(self) -> float:
        """The exact duration, as a float."""
        return float(self.duration * self.time_base)

    @property
    def evident_seconds(self) -> float:
        """The duration as far as it is supported by frames, up to a minute each, or by packets of sound.

        A damaged time may extend a frame by years. A still picture under a song lasts as long as the song.
        """
        moving = self.duration - self.held
        heard = 0.0 if self.sound is None else self.sound.packet_seconds
        return min(self.seconds, max(float(moving * self.time_base), heard))

    @property
    def frames_per_second(self) -> float:
        """The mean frame rate."""
        return float(self.frames / (self.duration * self.time_base)) if self.duration > 0 else 0.0

    @property
    def is_variable(self) -> bool:
        """Whether the distances between frames differ by more than the rounding of one tick."""
        return self.longest_frame - self.shortest_frame > 1
