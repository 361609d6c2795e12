"""The pictures of a clip: packets with new times, or frames encoded with VP9 or AV1, each shown when it was shown."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.image.decode.stills import TOO_MANY_FRAMES, TOO_MANY_PIXELS
from winnow.filters.video.clips.encoders import open_encoder
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.clips.planning import CopiedTimes, smaller
from winnow.filters.video.decode.clock import Clock, shown_at
from winnow.filters.video.decode.counting import orientation_of
from winnow.filters.video.decode.opening import COLOURS, OpenVideo, UnwatchableError
from winnow.filters.video.decode.opening_frame import OpeningFrame
from winnow.filters.video.decode.reading import decoded
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet
    from av.container import OutputContainer
    from av.video.frame import VideoFrame

_ENCODERS: Final = MappingProxyType({"vp9": "libvpx-vp9", "av1": "libsvtav1"})
_OPTIONS: Final = MappingProxyType(
    {
        "vp9": {"b": "0", "deadline": "good", "cpu-used": "4", "row-mt": "0", "g": "128"},
        "av1": {"preset": "8", "svtav1-params": "lp=1", "g": "128"},
    }
)
_DEFAULT_RATE: Final = Fraction(25)
_TURNS: Final = MappingProxyType(
    {2: (0, True), 3: (180, False), 4: (180, True), 5: (90, True), 6: (-90, False), 7: (-90, True), 8: (90, False)}
)
"""For each orientation of EXIF the degrees against the clock, and whether the picture is mirrored."""


class CopiedPictures:
    """Gives packets the times of a plan."""

    def __init__(self, video: OpenVideo, container: "OutputContainer", clip: Clip, times: CopiedTimes) -> None:
        self.stream = container.add_stream_from_template(video.pictures, opaque=True)  # by id: few decoders encode
        self._times = iter(zip(times.shown, times.decoded, strict=True))
        self._last = max(times.shown)
        self._end = clip.end - clip.start

    def add(self, packet: "Packet[Any]") -> Iterator["Packet[Any]"]:
        """The packet as it is written, if it is."""
        planned = next(self._times, None)
        if planned is None:
            return
        packet.pts, packet.dts = planned
        if packet.pts == self._last:
            packet.duration = self._end - self._last
        packet.stream = self.stream
        yield packet

    def end(self) -> Iterator["Packet[Any]"]:
        """Nothing is held."""
        return iter(())


class EncodedPictures:
    """Decodes and encodes the frames of a clip; the stream is there once the first frame is."""

    def __init__(self, video: OpenVideo, container: "OutputContainer", clip: Clip, options: ClipFile) -> None:
        tick = video.pictures.time_base
        assert tick is not None
        self._video, self._container, self._clip, self._options = video, container, clip, options
        self._clock, self._tick = Clock(clip.start, tick), tick
        self._rate = None if options.fps is None else Fraction(options.fps).limit_denominator(1001)
        self._opening = OpeningFrame(clip)
        self._waiting: VideoFrame | None = None  # whose end is not known yet
        self._ends: dict[int, int] = {}  # ticks, of frames that are in the encoder
        self._pixels = 0
        self.stream: Any = None
        self.frames = 0

    def add(self, packet: "Packet[Any]") -> Iterator["Packet[Any]"]:
        """The packets that are complete by now."""
        self._opening.expect(packet)
        yield from self._shown(decoded(self._video.pictures.codec_context, packet, self._video.limits))

    def end(self) -> Iterator["Packet[Any]"]:
        """What codecs still hold."""
        yield from self._shown(decoded(self._video.pictures.codec_context, None))
        if (before := self._opening.left()) is not None:
            yield from self._hold(before, self._clip.start)
        if self._waiting is not None:
            yield from self._encode(self._waiting, self._clip.end - self._clip.start)
            yield from self._timed(self.stream.encode(None))

    def _shown(self, frames: "list[VideoFrame]") -> Iterator["Packet[Any]"]:
        for frame in frames:
            self._spend(frame)
            ticks = self._clock.ticks(shown_at(frame), frame.duration)
            if (before := self._opening.before(frame, ticks)) is not None:
                yield from self._hold(before, self._clip.start)
            if self._clip.shows(ticks):
                yield from self._hold(frame, ticks)

    def _hold(self, frame: "VideoFrame", ticks: int) -> Iterator["Packet[Any]"]:
        """Encodes the frame before, whose end is known now."""
        if self.stream is None:
            self._begin(frame)
        if self._waiting is not None:
            yield from self._encode(self._waiting, ticks - self._clip.start)
        frame.pts, frame.time_base = ticks - self._clip.start, self._tick
        self._waiting = frame

    def _begin(self, frame: "VideoFrame") -> None:
        """Makes the stream, as the first frame is."""
        from av.codec.context import Flags
        from av.video.reformatter import ColorRange, Colorspace

        source, codec = self._video.pictures, self._options.codec
        stream: Any = self._container.add_stream(
            _ENCODERS[codec],
            rate=self._rate or source.average_rate or _DEFAULT_RATE,
            options={**_OPTIONS[codec], "crf": str(self._options.quality), "threads": "1"},
        )
        size = smaller(frame.width, frame.height, self._options) or (frame.width, frame.height)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        context = stream.codec_context
        context.time_base, context.thread_count = self._tick if self._rate is None else 1 / self._rate, 1
        context.flags |= int(Flags.bitexact)
        for name in COLOURS:
            setattr(context, name, int(getattr(frame, name)))
        if _is_rgb(frame):
            context.colorspace, context.color_range = int(Colorspace.ITU709), int(ColorRange.MPEG)
        if source.sample_aspect_ratio:
            context.sample_aspect_ratio = source.sample_aspect_ratio
        turn = _TURNS.get(orientation_of(frame))
        if turn is not None:
            stream.set_display_rotation(turn[0], hflip=turn[1])
        open_encoder(context)
        self.stream = stream

    def _encode(self, frame: "VideoFrame", end: int) -> Iterator["Packet[Any]"]:
        """Encodes a frame that is shown until `end`: once, or at each time of the asked rate at which it is shown."""
        import av.video.frame
        from av.video.reformatter import ColorRange, Colorspace, Interpolation

        assert frame.pts is not None
        times, tick = [(frame.pts, end)], self._tick
        if self._rate is not None:
            tick = 1 / self._rate
            until = max(ceil(end * self._tick * self._rate), not self.frames)  # a first frame is shown in any case
            if until > self._video.limits.max_frames:
                raise UnwatchableError(TOO_MANY_FRAMES, f"more than {self._video.limits.max_frames:,} in a clip")
            times = [(at, at + 1) for at in range(self.frames, until)]
            if not times:
                return
        colours: dict[str, Any] = {}
        if _is_rgb(frame):  # whose matrix and range no stream of luma can have
            colours = {"dst_colorspace": Colorspace.ITU709, "dst_color_range": ColorRange.MPEG}
        if self.stream.width < frame.width:
            colours["interpolation"] = Interpolation.AREA
        as_first = frame.reformat(self.stream.width, self.stream.height, "yuv420p", **colours)
        for pts, behind in times:
            self._ends[pts] = behind
            as_first.pts, as_first.time_base, as_first.duration = pts, tick, behind - pts
            as_first.pict_type = av.video.frame.PictureType.NONE  # the encoder chooses where keyframes are
            self.frames += 1
            yield from self._timed(self.stream.encode(as_first))

    def _timed(self, packets: "list[Packet[Any]]") -> Iterator["Packet[Any]"]:
        for packet in packets:
            if packet.pts is not None:
                packet.duration = self._ends.pop(packet.pts, packet.pts) - packet.pts
            yield packet

    def _spend(self, frame: "VideoFrame") -> None:
        self._pixels += frame.width * frame.height
        limits = self._video.limits
        if frame.width * frame.height > limits.max_pixels or self._pixels > limits.max_decoded_pixels:
            raise UnwatchableError(TOO_MANY_PIXELS, f"{self._pixels:,} in all frames of a clip")


def _is_rgb(frame: "VideoFrame") -> bool:
    return frame.format.is_rgb or frame.format.has_palette
