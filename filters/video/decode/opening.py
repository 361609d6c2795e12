"""Opens a video under limits: only with the demuxer of its sniffed type, and without other files, addresses or clocks.

FFmpeg picks demuxers by content, and some of them (playlists, concatenations) open further files: here the type decides
the demuxer, and no protocol is allowed. Headers are not trusted: packets are counted.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from winnow.filters.extras import required_package
from winnow.filters.image.decode.stills import DAMAGED, TOO_LARGE, TOO_MANY_FRAMES, TOO_MANY_PIXELS, UNSUPPORTED
from winnow.filters.video.decode.continuity import is_broken_up
from winnow.filters.video.decode.retiming import Retiming
from winnow.filters.video.decode.time_jumps import TimeJumps

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

_BUFFER_BYTES: Final = 256 << 10  # per read; Python's overhead of a read equals some kilobytes
_MARGIN_PIXELS: Final = 16 << 20
"""Decoders count the borders that they put around a picture; the limit itself is held to where frames are counted."""

_DISPOSED: Final = 0x400 | 0x800 | 0x100000  # attached pictures, thumbnails, stills: not videos


@dataclass(frozen=True, slots=True)
class VideoLimits:
    """The most that a video may cost, counted as it is spent, so that the same file always fails at the same place."""

    max_read_bytes: int = 64 << 30  # of the file; bytes read again count again
    max_probe_bytes: int = 16 << 20  # read ahead for streams that headers do not describe
    max_streams: int = 64
    max_packets: int = 8_000_000  # of all streams; a film of two hours has about 600,000
    max_frames: int = 2_000_000  # of pictures; 2 h at 240 a second
    max_pixels: int = 8192 * 4352  # of one frame, as large as the largest levels of codecs allow
    max_decoded_pixels: int = 8_000_000_000_000  # of all decoded frames; 2 h of 3840 x 2160 at 120 a second
    max_packet_bytes: int = 256 << 20


class UnwatchableError(Exception):
    """Why a video cannot be read: one of `REASONS`, and the decoder's message."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class OpenVideo:
    """A video whose streams are known, and of which nothing has been decoded.

    Attributes:
        container: PyAV's container.
        pictures: The video stream: of those that are not cover pictures the default one, or the largest.
        sound: The default sound stream, or the first; None if there is none that can be decoded.
        limits: The limits of decoding.
        time_jumps: Finds packets with impossible times.
        retiming: Gives times to packets without one.
    """

    container: "InputContainer"
    pictures: "VideoStream"
    sound: "AudioStream | None"
    limits: VideoLimits
    time_jumps: TimeJumps
    retiming: Retiming


class _Counted(io.RawIOBase):
    """A file of which at most so many bytes can be read."""

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
    """Open a video for one pass.

    Args:
        file: Open for reading and seekable, from the first byte of the video to its last. It is not closed.
        mime: Its sniffed type.
        limits: The limits of decoding.

    Raises:
        UnwatchableError: Its type is not supported, it is damaged, or it has no video stream.
    """
    av = required_package("watching videos", "av", "video")
    if mime not in DEMUXERS:
        raise UnwatchableError(UNSUPPORTED, mime)
    options = {
        "protocol_whitelist": "none",
        "probesize": str(limits.max_probe_bytes),
        "max_streams": str(limits.max_streams + 1),  # FFmpeg stops at one more than it allows, or ignores the limit
        "threads": "1",
    }
    if not is_broken_up(DEMUXERS[mime]):  # FFmpeg would take what precedes a first frame with a jump for an overflow
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
        except av.error.MemoryError:  # as the demuxers of MP4 and others report it
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
    """Turn PyAV's errors about a video into UnwatchableError."""
    import av.error

    try:
        yield
    except av.error.MemoryError as error:  # the file claims a size beyond FFmpeg's limit
        raise UnwatchableError(TOO_LARGE, f"it claims more than fits into memory: {_said(error)}") from None
    except MemoryError:  # a fault of the machine, not the file
        raise
    except (av.error.DecoderNotFoundError, av.error.PatchWelcomeError) as error:
        raise UnwatchableError(UNSUPPORTED, _said(error)) from None
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        raise UnwatchableError(DAMAGED, _said(error)) from None


def complaints(call: Callable[[], object]) -> list[str]:
    """The messages that FFmpeg logs while something fails: only they say why."""
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
    """Restrict a decoder to one thread, the limits, and output that is the same on any machine."""
    from av.codec.context import Flags

    decoder.thread_count = 1
    decoder.flags |= int(Flags.bitexact)
    decoder.options = {"max_pixels": str(limits.max_pixels + _MARGIN_PIXELS)}


def another_decoder(first: Any, limits: VideoLimits) -> Any:
    """A second decoder of the same stream, in its initial state.

    Colours declared only by the container are copied, too: an unused decoder has just these.
    """
    import av

    found: Any = av.CodecContext.create(first.codec, "r")
    found.extradata = first.extradata
    found.width, found.height = first.width, first.height
    if first.pix_fmt is not None:  # for a damaged stream the container may not know it
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
    jumps, retiming = TimeJumps(chosen, container.duration), Retiming(container, chosen, sound)
    return OpenVideo(container, chosen, sound, limits, jumps, retiming)
