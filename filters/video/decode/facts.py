"""What the packets of a video, and its first frame, say of it: `VideoFacts`, counted by `counting.py`.

Times are in ticks of the video stream's own time base. What a header declares is not believed where it can be measured:
the duration is that of the packets, the size that of the first decoded frame.
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
    rate: int  # samples a second
    seconds: float  # from its first packet to the end of its last
    packet_seconds: float  # as long as its packets are by themselves, whatever their times
    starts_after: float  # seconds from the first frame to the first sound; negative if the sound begins before


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """The main video stream, its container, and its sound."""

    container: str  # as FFmpeg names it: mov, matroska, mpegts, mpeg, avi, ogg, flv, asf …
    streams: int
    codec: str
    profile: str  # empty if the codec has none
    pixel_format: str
    interlaced: bool  # whether the first decoded frame is of two fields
    width: int  # as stored: of the first decoded frame
    height: int
    pixel_aspect: Fraction  # width of a pixel by its height; 1 if the file does not say
    orientation: int  # as EXIF numbers it, 1 to 8: how the display matrix turns the picture
    time_base: Fraction  # seconds a tick
    start: int  # ticks of the first shown frame
    duration: int  # ticks from there to the end of the last frame
    frames: int  # that are shown
    keyframes: int
    shortest_frame: int  # ticks between neighbouring frames
    longest_frame: int
    held: int  # ticks for which frames are shown beyond their first minute
    longest_gop: int  # ticks between neighbouring keyframes, the end included
    untimed: int  # packets without a time of their own that can be so
    leaps: int  # times that cannot be so, and pauses that the container's own duration contradicts
    corrupt: int  # packets that the demuxer calls damaged
    bytes: int  # of the video stream's packets
    declared_seconds: float | None  # what the container says
    declared_rate: Fraction | None  # frames a second that the codec's own header says, or Matroska's of each frame
    audio_streams: int
    subtitle_streams: int
    sound: SoundFacts | None

    @property
    def seconds(self) -> float:
        """The exact duration, as a float."""
        return float(self.duration * self.time_base)

    @property
    def evident_seconds(self) -> float:
        """The duration as far as frames, a minute each at most, or the packets of sound bear it out.

        A damaged time may hold a frame for years. A still picture under a song is as long as the song.
        """
        moving = self.duration - self.held
        heard = 0.0 if self.sound is None else self.sound.packet_seconds
        return min(self.seconds, max(float(moving * self.time_base), heard))

    @property
    def frames_per_second(self) -> float:
        """The mean rate."""
        return float(self.frames / (self.duration * self.time_base)) if self.duration > 0 else 0.0

    @property
    def is_variable(self) -> bool:
        """Whether frames follow one another at different distances, beyond the rounding of one tick."""
        return self.longest_frame - self.shortest_frame > 1
