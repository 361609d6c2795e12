"""Whether a part of a video can be cut out of it by copying packets, from the times of its packets alone.

Copying gives exactly the frames of the part if it begins with a keyframe, and if none of the packets between it and the
last frame shows a frame outside the part. Times of decoding are made anew, from the times of showing: what files say of
them differs by container, and some say nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.opening import OpenVideo
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet

_PICTURES: Final = MappingProxyType(
    {
        "mp4": frozenset({"h264", "hevc", "vp9", "av1", "mpeg4"}),
        "webm": frozenset({"vp9", "av1"}),
        "mkv": frozenset({"h264", "hevc", "vp9", "av1", "mpeg4", "mpeg2video"}),
    }
)
"""The codecs that are copied: of those that a format takes, those whose packets each show one frame."""

_SOUND: Final = MappingProxyType(
    {
        "mp4": frozenset({"aac", "mp3", "opus", "ac3"}),
        "webm": frozenset({"opus", "vorbis"}),
        "mkv": frozenset({"aac", "mp3", "opus", "vorbis", "flac", "ac3"}),
    }
)
_SOURCES: Final = frozenset({"mov", "matroska"})
"""The containers whose packets are copied; others frame them in ways of their own."""


@dataclass(frozen=True, slots=True)
class CopiedTimes:
    """The frames of a part whose packets are copied, in the order of the file, in ticks since its start."""

    shown: tuple[int, ...]
    decoded: tuple[int, ...]


def copied_times(
    video: OpenVideo, packets: "Iterator[Packet[Any]]", clip: Clip, options: ClipFile
) -> CopiedTimes | None:
    """The times of the packets that can be copied; None if the part must be encoded.

    Args:
        video: The video.
        packets: Those that its part needs; they are used up.
        clip: The part.
        options: What is written.
    """
    codec = video.pictures.codec_context.codec.canonical_name
    if options.fps is not None or smaller(video.pictures.width, video.pictures.height, options) is not None:
        return None
    if options.copy == "never" or codec not in _PICTURES[options.format] or not _is_source(video):
        return None
    shown: list[int] = []
    for packet in packets:
        if packet.stream_index != video.pictures.index:
            continue
        if packet.pts is None or packet.is_discard or packet.is_corrupt or (not shown and not packet.is_keyframe):
            return None
        shown.append(packet.pts - clip.start)
    last = max((at for at, time in enumerate(shown) if time < clip.end - clip.start), default=-1)
    shown = shown[: last + 1]  # what follows shows frames behind the end
    in_order = sorted(shown)
    if not shown or shown[0] != 0 or in_order[0] < 0 or in_order[-1] >= clip.end - clip.start:
        return None
    if len(set(shown)) < len(shown):
        return None
    early = max(time - own for time, own in zip(in_order, shown, strict=True))
    return CopiedTimes(tuple(shown), tuple(time - early for time in in_order))


def smaller(width: int, height: int, options: ClipFile) -> tuple[int, int] | None:
    """The size that frames are shrunk to, both sides even as encoders want them; None if they stay as they are."""
    if options.resize is None or min(width, height) <= options.resize:
        return None
    by = options.resize / min(width, height)
    return max(round(width * by / 2) * 2, 2), max(round(height * by / 2) * 2, 2)


def takes_sound(video: OpenVideo, options: ClipFile) -> bool:
    """Whether the packets of a video's sound are copied."""
    if video.sound is None or not _is_source(video):
        return False
    return video.sound.codec_context.codec.canonical_name in _SOUND[options.format]


def _is_source(video: OpenVideo) -> bool:
    return video.container.format.name.partition(",")[0] in _SOURCES
