"""Cuts a part out of a video into a file of its own, and reads the file back to see that it is that part.

The same part of the same video, cut with the same options and the same FFmpeg, gives the same bytes.
"""

import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

from winnow.filters.image.decode.stills import DAMAGED, TOO_LARGE
from winnow.filters.video.clips.options import MIMES, ClipFile
from winnow.filters.video.clips.pictures import CopiedPictures, EncodedPictures
from winnow.filters.video.clips.planning import CopiedTimes, copied_times, takes_sound
from winnow.filters.video.clips.sound import CopiedSound, EncodedSound
from winnow.filters.video.decode.clip_packets import open_clip, packets_of_clip
from winnow.filters.video.decode.opening import OpenVideo, UnwatchableError, VideoLimits, open_video, translated
from winnow.filters.video.decode.reading import packets_within_limits
from winnow.filters.video.decode.wanted import Clip
from winnow.filters.video.decode.watching import VideoPass
from winnow.schemas.identity import Json

if TYPE_CHECKING:
    from av import Packet
    from av.container import OutputContainer

CUTTER: Final = 7
"""Goes up whenever a clip is cut to other bytes by the same FFmpeg."""

_MUXERS: Final = MappingProxyType({"mp4": "mp4", "webm": "webm", "mkv": "matroska"})
_MOST_BYTES: Final = 8 << 30  # of a clip: a tar takes no larger member
_MOST_HELD: Final = 64 << 20  # bytes of sound before the first frame


@dataclass(frozen=True, slots=True)
class CutClip:
    """What is known of a clip's file, read from the file."""

    mime: str
    copied: bool  # its pictures are the video's own packets
    frames: int
    seconds: float
    width: int
    height: int
    orientation: int


def cut(file: IO[bytes], mime: str, clip: Clip, options: ClipFile, limits: VideoLimits, out: IO[bytes]) -> CutClip:
    """Writes a part of a video.

    Args:
        file: The video, open for reading; it can seek, and is not closed.
        mime: Its sniffed type.
        clip: The part.
        options: How it is written.
        limits: What reading it may cost.
        out: An empty file that can be read and written, and can seek.

    Raises:
        UnwatchableError: The video, or this part of it, cannot be read.
    """
    times = _planned(file, mime, clip, options, limits)
    if times is not None:
        frames = _write(file, mime, clip, options, limits, out, times)
        facts = _read_back(out, options, limits, times is not None)
        if facts is not None and facts.frames == frames and facts.seconds > 0 and _plays(out, options, limits):
            return facts
        out.seek(0)
        out.truncate()
    frames = _write(file, mime, clip, options, limits, out, None)
    facts = _read_back(out, options, limits, copied=False)
    if facts is None or facts.frames != frames:
        raise UnwatchableError(DAMAGED, f"{0 if facts is None else facts.frames:,} of {frames:,} frames were written")
    return facts


def cutting_identity(options: ClipFile) -> Json:
    """What the bytes of clips depend on besides the video: every option, and what cuts."""
    try:
        package: str | None = version("av")
    except PackageNotFoundError:  # whole videos are exported without it
        package = None
    return {"options": options.described(), "version": CUTTER, "av": package}


def _planned(file: IO[bytes], mime: str, clip: Clip, options: ClipFile, limits: VideoLimits) -> CopiedTimes | None:
    file.seek(0)
    with open_clip(file, mime, limits, clip) as video, translated():
        return copied_times(video, packets_of_clip(video, packets_within_limits(video), clip), clip, options)


def _write(
    file: IO[bytes],
    mime: str,
    clip: Clip,
    options: ClipFile,
    limits: VideoLimits,
    out: IO[bytes],
    times: CopiedTimes | None,
) -> int:
    """Writes the file; returns how many frames it should show."""
    import av

    file.seek(0)
    with (
        open_clip(file, mime, limits, clip) as video,
        translated(),
        closing(av.open(_Bounded(out), "w", format=_MUXERS[options.format], options={"fflags": "+bitexact"})) as made,
    ):
        pictures = (
            EncodedPictures(video, made, clip, options) if times is None else CopiedPictures(video, made, clip, times)
        )
        for packet in _written(video, made, clip, options, pictures):
            made.mux(packet)
        if isinstance(pictures, EncodedPictures):
            if not pictures.frames:
                raise UnwatchableError(DAMAGED, "none of its frames can be decoded")
            return pictures.frames
    assert times is not None
    return len(times.shown)


def _written(
    video: OpenVideo,
    made: "OutputContainer",
    clip: Clip,
    options: ClipFile,
    pictures: CopiedPictures | EncodedPictures,
) -> Iterator["Packet[Any]"]:
    """The packets of the clip's file. Nothing is written before both streams are there."""
    source = video.sound if options.sound else None
    sound: CopiedSound | EncodedSound | None = None
    early: list[Packet[Any]] = []  # sound before the first frame
    held = 0
    for packet in packets_of_clip(video, packets_within_limits(video), clip):
        if packet.stream_index == video.pictures.index:
            for one in pictures.add(packet):
                if source is not None and sound is None:
                    sound = _sound(video, made, clip, options)
                    for each in early:
                        yield from sound.add(each)
                    early.clear()
                yield one
        elif source is not None and packet.stream_index == source.index:
            if sound is not None:
                yield from sound.add(packet)
                continue
            early.append(packet)
            held += packet.size
            if held > _MOST_HELD:
                raise UnwatchableError(TOO_LARGE, f"more than {_MOST_HELD:,} bytes of sound before the first frame")
    for one in pictures.end():
        if source is not None and sound is None:
            sound = _sound(video, made, clip, options)
            for each in early:
                yield from sound.add(each)
        yield one
    if sound is not None:
        yield from sound.end()


def _sound(video: OpenVideo, made: "OutputContainer", clip: Clip, options: ClipFile) -> CopiedSound | EncodedSound:
    assert video.sound is not None
    tick = video.pictures.time_base or Fraction(1)
    start, seconds = clip.start * tick, (clip.end - clip.start) * tick
    kind = CopiedSound if takes_sound(video, options) else EncodedSound
    return kind(video.sound, made, start, seconds)


def _read_back(out: IO[bytes], options: ClipFile, limits: VideoLimits, copied: bool) -> CutClip | None:
    """What the written file holds, by its packets and its first frame; None if it cannot be read."""
    out.flush()
    out.seek(0)
    reading = VideoPass(out, MIMES[options.format], (), limits)
    try:
        for _ in reading.signals():
            pass
    except UnwatchableError:
        return None
    facts = reading.facts
    return CutClip(
        MIMES[options.format],
        copied,
        facts.frames,
        float(facts.duration * facts.time_base),
        facts.width,
        facts.height,
        facts.orientation,
    )


def _plays(out: IO[bytes], options: ClipFile, limits: VideoLimits) -> bool:
    """Whether every packet of a copy can be decoded: players that do not go on behind damage would stop at it."""
    import av.error

    out.seek(0)
    try:
        with open_video(out, MIMES[options.format], limits) as made:
            decoder = made.pictures.codec_context
            for packet in packets_within_limits(made):
                if packet.stream_index == made.pictures.index:
                    decoder.decode(packet)
            decoder.decode(None)
    except (UnwatchableError, av.error.FFmpegError):
        return False
    return True


class _Bounded(io.RawIOBase):
    """A file that does not grow beyond a limit."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._file.tell() + len(content) > _MOST_BYTES:
            raise UnwatchableError(TOO_LARGE, f"a clip of more than {_MOST_BYTES:,} bytes")
        return self._file.write(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()
