"""Counts the packets of a video while a pass goes over them: the exact times of its frames, whatever headers say.

A packet without a time of its own, or with one that leaps, is shown when the one before it in the file ends. Frames
that an edit list hides and those that a codec never shows count for nothing. The last frame ends after its own
duration, or after that of the frame before it where the file gives none, and at the rate of the others where that is
but a tick away, as each was rounded to ticks by itself; if that is seconds later than the container
says, when the container does. Pauses that make a film longer than its container says count as leaps, but stay: players
show them.
"""

from array import array
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import DAMAGED
from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.facts import SoundFacts, VideoFacts
from winnow.filters.video.decode.opening import OpenVideo, UnwatchableError
from winnow.filters.video.decode.reading import side_data_of
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet
    from av.video.frame import VideoFrame

_MOST_TICKS: Final = 1 << 61
_BEYOND: Final = 10  # seconds by which a film may outlast what its container says
_LONG: Final = 60  # seconds of one frame, as slides are shown
_STRAY: Final = 1  # second by which sound may be ahead of what follows
_HALF: Final = 1 << 15  # of a matrix's numbers, which have 16 binary places
_ORIENTATIONS: Final = {
    (1, 0, 0, 1): 1,
    (-1, 0, 0, 1): 2,
    (-1, 0, 0, -1): 3,
    (1, 0, 0, -1): 4,
    (0, 1, 1, 0): 5,
    (0, 1, -1, 0): 6,
    (0, -1, -1, 0): 7,
    (0, -1, 1, 0): 8,
}
"""EXIF's numbers of the ways in which a display matrix turns and mirrors a picture."""


class Counting:
    """A fold over the packets of a video.

    Args:
        video: The video.
        clip: The part of it that is counted; None for all of it.
    """

    def __init__(self, video: OpenVideo, clip: Clip | None = None) -> None:
        self._video, self._clip = video, clip
        self._pictures = video.pictures.index
        self._heard_stream = None if video.sound is None else video.sound.index
        self._before = self._behind = False  # whether there are frames on either side of the part
        self._times = array("q")  # of shown packets, in the order of the file
        self._keys = array("q")  # the times of those that need no other
        self._next: int | None = None  # when the packet before ends
        self._leapt = 0  # packets that leapt before any that had a time
        self._last: tuple[int, int] = (-_MOST_TICKS, 0)  # the latest time, and the duration that goes with it
        self._bytes = self._untimed = self._corrupt = 0
        self._hides_frames = video.pictures.codec_context.codec.canonical_name == "vp8"
        self._sound_start: int | None = None
        self._sound_end = 0
        self._heard: tuple[int, int] | None = None  # time and duration of the last packet of sound
        self._sounding = 0  # ticks of all packets of sound

    def add(self, packet: "Packet[Any]") -> None:
        """The next packet of the file, of any stream; not those of zero bytes that end streams."""
        index = packet.stream_index
        if index == self._pictures:
            self._add_picture(packet)
        elif index == self._heard_stream:
            self._add_sound(packet)

    def _add_picture(self, packet: "Packet[Any]") -> None:
        if self._clip is not None and (shown := shown_at(packet)) is not None and not self._clip.shows(shown):
            self._before |= shown < self._clip.start and not packet.is_discard
            self._behind |= shown >= self._clip.end or shown + (packet.duration or 0) > self._clip.start
            return
        self._bytes += packet.size
        self._corrupt += packet.is_corrupt
        if packet.is_discard or (self._hides_frames and not memoryview(packet)[0] & 0x10):
            return
        time = shown_at(packet)
        if time is None:
            self._untimed += 1
            if self._next is None and self._video.leaps.count:
                self._leapt += 1
                return
            time = self._next or 0
        if abs(time) > _MOST_TICKS:
            raise UnwatchableError(DAMAGED, f"a frame at tick {time}")
        duration = min(max(packet.duration or 0, 0), _MOST_TICKS)
        self._next = time + (duration or self._tick_guess())
        self._times.extend([time] * (1 + self._leapt))
        self._leapt = 0
        if packet.is_keyframe:
            self._keys.append(time)
        self._last = max(self._last, (time, duration))

    def _tick_guess(self) -> int:
        """The ticks of a frame, by the rate that the stream declares: only where neither time nor duration is given."""
        stream = self._video.pictures
        rate, tick = stream.average_rate or stream.base_rate, stream.time_base
        return max(1, round(1 / (rate * tick))) if rate and tick else 1

    def _add_sound(self, packet: "Packet[Any]") -> None:
        time = shown_at(packet)
        if time is None:
            time = self._sound_end if self._heard is None else sum(self._heard)
        if self._sound_start is None:
            self._sound_start = time
        self._sound_start = min(self._sound_start, time)
        stray = int(_STRAY / (packet.time_base or Fraction(1)))
        self._hear(before=time + stray)
        self._heard = time, max(packet.duration or 0, 0)
        self._sounding += self._heard[1]

    def _hear(self, before: int) -> None:
        """Sound lasts to the end of its last packet, unless that is ahead of what follows: then for its duration."""
        if self._heard is None:
            return
        (time, duration), self._heard = self._heard, None
        self._sound_end = max(self._sound_end, time + duration) if time <= before else self._sound_end + duration

    def facts(self, first: "VideoFrame") -> VideoFacts:
        """All that is known when the last packet has been added.

        Args:
            first: The first decoded frame.
        """
        container, stream = self._video.container, self._video.pictures
        clip = self._clip
        if clip is not None and self._before and (self._behind or self._times) and clip.start not in self._times:
            self._times.append(clip.start)  # it begins with a frame that is shown already
        if not self._times:
            raise UnwatchableError(DAMAGED, "no frame is shown")
        times, keys = np.sort(np.asarray(self._times)), np.sort(np.asarray(self._keys))
        apart = np.diff(times)
        start, last, duration = int(times[0]), int(times[-1]), self._last[1]
        end = last + (duration or (int(apart[-1]) if len(apart) else self._tick_guess()))
        if len(apart) and apart.max() - apart.min() <= 1:  # of one rate, each frame rounded to ticks by itself
            even = Fraction((last - start) * len(times), len(apart))  # from the first frame to the end of the last
            if abs(end - start - even) <= 1:
                end = start + round(even)
        tick = stream.time_base or Fraction(1)
        declared = container.duration
        leaps = self._video.leaps.count
        if clip is None and declared is not None:
            said = start + int(Fraction(declared, 1_000_000) / tick)
            beyond = end - said - int(_BEYOND / tick)
            if beyond > 0 and last < said:
                end = said
                leaps += 1
            elif beyond > 0:
                leaps += int(np.count_nonzero(apart > beyond))
        if clip is not None:  # its last frame is shown until it ends
            start, end = clip.start, clip.end
        gops = np.diff(np.append(keys, end)) if len(keys) else np.array([end - start])
        return VideoFacts(
            container=container.format.name.partition(",")[0],
            streams=len(container.streams),
            codec=stream.codec_context.codec.canonical_name,
            profile=stream.profile or "",
            pixel_format=first.format.name,
            interlaced=bool(first.interlaced_frame),
            width=first.width,
            height=first.height,
            pixel_aspect=stream.sample_aspect_ratio or Fraction(1),
            orientation=orientation_of(first),
            time_base=tick,
            start=start,
            duration=end - start,
            frames=len(times),
            keyframes=len(keys),
            shortest_frame=int(apart.min()) if len(apart) else end - start,
            longest_frame=max(int(apart.max()), end - last) if len(apart) else end - start,
            held=_beyond_a_minute(np.append(apart, end - last), tick),
            longest_gop=int(gops.max()),
            untimed=self._untimed + self._video.retiming.count,
            leaps=leaps,
            corrupt=self._corrupt,
            bytes=self._bytes,
            declared_seconds=None if declared is None else declared / 1_000_000,
            declared_rate=_declared_rate(self._video),
            audio_streams=len(container.streams.audio),
            subtitle_streams=len(container.streams.subtitles),
            sound=self._sound(start * tick),
        )

    def _sound(self, start: Fraction) -> SoundFacts | None:
        stream = self._video.sound
        if stream is None or self._sound_start is None:
            return None
        tick, context = stream.time_base or Fraction(1), stream.codec_context
        self._hear(before=max(self._sound_end, self._sound_start) + int(_BEYOND / tick))
        return SoundFacts(
            codec=context.codec.canonical_name,
            channels=context.channels,
            rate=context.sample_rate,
            seconds=float((self._sound_end - self._sound_start) * tick),
            packet_seconds=float(self._sounding * tick),
            starts_after=float(self._sound_start * tick - start),
        )


def _beyond_a_minute(lasting: NDArray[np.int64], tick: Fraction) -> int:
    """The ticks by which frames that are shown for more than a minute outlast it."""
    excess = lasting - int(_LONG / tick)
    return sum(excess[excess > 0].tolist())


def _declared_rate(video: OpenVideo) -> Fraction | None:
    """A rate that no scale of times has a part in: the codec's, or Matroska's, which counts nanoseconds a frame."""
    stream = video.pictures
    rate: Fraction | None = stream.codec_context.framerate
    if not rate and video.container.format.name.startswith("matroska"):
        rate = stream.average_rate
    return rate if rate and rate > 0 else None


def orientation_of(frame: "VideoFrame") -> int:
    """How the display matrix of a frame turns it, as EXIF numbers it; 1 without one."""
    matrix = side_data_of(frame, "DISPLAYMATRIX")
    if matrix is None:
        return 1
    a, b, _, c, d = (_sign(one) for one in np.frombuffer(cast(bytes, matrix), "<i4")[:5].tolist())
    return _ORIENTATIONS.get((a, b, c, d), 1)


def _sign(number: int) -> int:
    """-1, 0 or 1 of a fixed-point number; small ones, of rounded angles, are 0."""
    return 0 if abs(number) < _HALF else -1 if number < 0 else 1
