"""Opens a video under limits: only the demuxer of its sniffed type, no other file or address, nothing by clocks.

FFmpeg picks demuxers by content, and some of them (playlists, concatenations) open further files: here the type names
the demuxer and no protocol is allowed. What a header declares is never believed: packets are counted.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from winnow.filters.extras import required_package
from winnow.filters.image.decode.stills import DAMAGED, TOO_LARGE, TOO_MANY_FRAMES, TOO_MANY_PIXELS, UNSUPPORTED
from winnow.filters.video.decode.continuity import is_broken_up
from winnow.filters.video.decode.leaps import Leaps
from winnow.filters.video.decode.retiming import Retiming

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.stream import VideoStream

NO_VIDEO: Final = "no_video"
TOO_MANY_STREAMS: Final = "too_many_streams"
TOO_MANY_PACKETS: Final = "too_many_packets"
REASONS: Final = (
    TOO_LARGE,
    TOO_MANY_STREAMS,
    TOO_MANY_PACKETS,
    TOO_MANY_FRAMES,
    TOO_MANY_PIXELS,
    NO_VIDEO,
    UNSUPPORTED,
    DAMAGED,
)
"""Why a video is not watched."""

DEMUXERS: Final = {
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "video/x-m4v": "mov",
    "video/3gpp": "mov",
    "video/3gpp2": "mov",
    "video/webm": "matroska",
    "video/matroska": "matroska",
    "video/x-msvideo": "avi",
    "video/mpeg": "mpeg",
    "video/mp2t": "mpegts",
    "video/ogg": "ogg",
    "video/x-flv": "flv",
    "video/x-ms-asf": "asf",
    "video/x-dv": "dv",
}
"""FFmpeg's name for each type that is opened."""

COLOURS: Final = ("color_range", "colorspace", "color_primaries", "color_trc")
"""What decoders, encoders and frames say of their colours, as PyAV names it."""

_BUFFER_BYTES: Final = 256 << 10  # of one read; Python's part of a read costs as much as some kilobytes
_MARGIN_PIXELS: Final = 16 << 20
"""Decoders count the borders that they put around a picture; the limit itself is held to where frames are counted."""

_DISPOSED: Final = 0x400 | 0x800 | 0x100000  # attached pictures, thumbnails, stills: no videos


@dataclass(frozen=True, slots=True)
class VideoLimits:
    """What a video may cost: each is counted as it is spent, so that the same file always fails at the same place."""

    max_read_bytes: int = 64 << 30  # of the file, those that are read again counted again
    max_probe_bytes: int = 16 << 20  # read ahead for streams that headers do not describe
    max_streams: int = 64
    max_packets: int = 8_000_000  # of all streams; a film of two hours has some 600,000
    max_frames: int = 2_000_000  # of pictures; 2 h at 240 a second
    max_pixels: int = 8192 * 4352  # of one frame, as large as the largest levels of codecs allow
    max_decoded_pixels: int = 8_000_000_000_000  # of all decoded frames; 2 h of 3840 x 2160 at 120 a second
    max_packet_bytes: int = 256 << 20


class UnwatchableError(Exception):
    """Why a video cannot be watched: one of `REASONS`, and what the decoder says."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class OpenVideo:
    """A video whose streams are known, and of which nothing has been decoded.

    Attributes:
        container: As PyAV has it.
        pictures: The stream that is watched: of those that are no cover picture, the default one, or the largest.
        sound: The default stream of sound, or the first; None if there is none, or none that can be decoded.
        limits: What it may cost.
        leaps: Which of its packets have times that are not so.
        retiming: Which of them have none.
    """

    container: "InputContainer"
    pictures: "VideoStream"
    sound: "AudioStream | None"
    limits: VideoLimits
    leaps: Leaps
    retiming: Retiming


class _Counted(io.RawIOBase):
    """A file of which only so many bytes are read."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._left, self._most = file, most, most

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size)
        self._left -= len(found)
        if self._left < 0:
            raise UnwatchableError(TOO_LARGE, f"more than {self._most:,} bytes were read")
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


@contextmanager
def open_video(file: IO[bytes], mime: str, limits: VideoLimits) -> Iterator[OpenVideo]:
    """Opens a video for one pass.

    Args:
        file: Open for reading, from the first byte of the video to its last; it can seek. It is not closed.
        mime: Its sniffed type.
        limits: What it may cost.

    Raises:
        UnwatchableError: It is of a type that is not opened, damaged, or has no stream of pictures.
    """
    av = required_package("watching videos", "av", "video")
    if mime not in DEMUXERS:
        raise UnwatchableError(UNSUPPORTED, mime)
    options = {
        "protocol_whitelist": "none",
        "probesize": str(limits.max_probe_bytes),
        "max_streams": str(limits.max_streams + 1),  # FFmpeg stops at one more than it allows, or leaves it out
        "threads": "1",
    }
    if not is_broken_up(DEMUXERS[mime]):  # FFmpeg would take what comes before a first frame that leaps for an overflow
        options["correct_ts_overflow"] = "0"

    def opened() -> Any:
        return av.open(
            _Counted(file, limits.max_read_bytes),
            "r",
            format=DEMUXERS[mime],
            options=options,
            metadata_errors="replace",
            buffer_size=_BUFFER_BYTES,
        )

    start = file.tell()
    with translated():
        try:
            container = opened()
        except av.error.MemoryError:  # as demuxers of MP4 and others put it, among others
            file.seek(start)
            if any("max_streams" in line for line in complaints(opened)):
                raise UnwatchableError(TOO_MANY_STREAMS, f"more than {limits.max_streams:,}") from None
            raise
    try:
        yield _chosen(container, limits)
    finally:
        container.close()


@contextmanager
def translated() -> Iterator[None]:
    """Turn what PyAV raises about a video into an UnwatchableError."""
    import av.error

    try:
        yield
    except av.error.MemoryError as error:  # FFmpeg asked for what the file claims, more than it may have
        raise UnwatchableError(TOO_LARGE, f"it claims more than fits into memory: {_said(error)}") from None
    except MemoryError:  # the machine's fault, not the file's
        raise
    except (av.error.DecoderNotFoundError, av.error.PatchWelcomeError) as error:
        raise UnwatchableError(UNSUPPORTED, _said(error)) from None
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        raise UnwatchableError(DAMAGED, _said(error)) from None


def complaints(call: Callable[[], object]) -> list[str]:
    """What FFmpeg writes to its log while something fails: only there it says why."""
    import av.error
    import av.logging

    level, skips = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)
    try:
        with av.logging.Capture() as said, suppress(EOFError, av.error.FFmpegError, ValueError):
            call()
    finally:
        av.logging.set_level(level)
        av.logging.set_skip_repeated(skips)
    return [line for _, _, line in said]


def restrain(decoder: Any, limits: VideoLimits) -> None:
    """Keep a decoder to one thread, to the limits, and to what it gives on any machine."""
    from av.codec.context import Flags

    decoder.thread_count = 1
    decoder.flags |= int(Flags.bitexact)
    decoder.options = {"max_pixels": str(limits.max_pixels + _MARGIN_PIXELS)}


def another_decoder(first: Any, limits: VideoLimits) -> Any:
    """A second decoder of the same stream, which has seen nothing.

    What a container alone says of colours is copied, too: as long as the first one has seen nothing, it is just that.
    """
    import av

    found: Any = av.CodecContext.create(first.codec, "r")
    found.extradata = first.extradata
    found.width, found.height = first.width, first.height
    if first.pix_fmt is not None:  # of a damaged stream the container may not know it
        found.pix_fmt = first.pix_fmt
    found.bits_per_coded_sample = first.bits_per_coded_sample
    found.codec_tag = first.codec_tag
    for name in COLOURS:
        setattr(found, name, getattr(first, name))
    restrain(found, limits)
    return found


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split())[:200] or type(error).__name__


def _chosen(container: Any, limits: VideoLimits) -> OpenVideo:
    streams = len(container.streams)
    if streams > limits.max_streams:
        raise UnwatchableError(TOO_MANY_STREAMS, f"more than {limits.max_streams:,}")
    pictures = [one for one in container.streams.video if not int(one.disposition) & _DISPOSED]
    if not pictures:
        raise UnwatchableError(NO_VIDEO, f"none of {streams} streams has moving pictures")
    readable = [one for one in pictures if one.codec_context is not None]
    if not readable:
        raise UnwatchableError(UNSUPPORTED, "no decoder for its pictures")
    chosen = max(readable, key=lambda one: (int(one.disposition) & 1, one.width * one.height, -one.index))
    if chosen.width * chosen.height > limits.max_pixels:
        raise UnwatchableError(
            TOO_MANY_PIXELS, f"{chosen.width:,} x {chosen.height:,} of at most {limits.max_pixels:,} pixels"
        )
    sounds = [one for one in container.streams.audio if one.codec_context is not None]
    sound = max(sounds, key=lambda one: (int(one.disposition) & 1, -one.index), default=None)
    for one in (chosen, sound):
        if one is not None:
            restrain(one.codec_context, limits)
    leaps, retiming = Leaps(chosen, container.duration), Retiming(container, chosen, sound)
    return OpenVideo(container, chosen, sound, limits, leaps, retiming)
