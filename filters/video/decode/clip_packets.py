"""The packets that a part of a video needs: those from the keyframe before it to its end.

Containers with an index are entered at that keyframe, so a part of a film costs about what a film of its length does.
Others, and parts whose keyframe is in no index, are read from their beginning, without decoding. Where keyframes need
what is before them, all packets from the beginning are given. Sound is that of the same time, which in a file may come
behind later pictures: by a fragment, or by what a multiplexer delays.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any, Final

from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.keyframes import keyframes_stand_alone
from winnow.filters.video.decode.opening import OpenVideo, VideoLimits, open_video
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet

_INDEXED: Final = frozenset({"mov", "matroska"})
_LATE: Final = 10  # seconds of pictures behind the end, among which sound of the part is looked for
_EARLIER: Final = (
    0,
    2,
    20,
)  # seconds before the start at which a keyframe is looked for: indexes have times of decoding


@contextmanager
def open_clip(file: IO[bytes], mime: str, limits: VideoLimits, clip: Clip | None) -> Iterator[OpenVideo]:
    """Opens a video for one pass over a part of it, at the keyframe before that where the container knows it.

    Args:
        file: As for `open_video`.
        mime: Its sniffed type.
        limits: What it may cost.
        clip: The part; None for the whole video.

    Raises:
        UnwatchableError: It cannot be opened.
    """
    start = file.tell()
    with open_video(file, mime, limits) as video:
        if clip is None or _is_entered(video, clip):
            yield video
            return
    file.seek(start)  # looking for a keyframe has lost what was read before
    with open_video(file, mime, limits) as video:
        yield video


def packets_of_clip(video: OpenVideo, packets: "Iterator[Packet[Any]]", clip: Clip) -> "Iterator[Packet[Any]]":
    """Those packets that are needed to show a part of a video that was opened for it, none of which has been read."""
    begun = not keyframes_stand_alone(video)
    tick = video.pictures.time_base or Fraction(1)
    start, end = clip.start * tick, clip.end * tick
    held: list[Packet[Any]] = []  # since the last keyframe that is not behind the start
    reorders = bool(video.pictures.codec_context.has_b_frames)  # then a time of showing says nothing of what follows
    ended = False
    heard = video.sound is None  # all of its sound
    for packet in packets:
        if packet.stream_index != video.pictures.index:
            if _overlaps(packet, start, end):
                yield packet
            if video.sound is not None and packet.stream_index == video.sound.index and _is_behind(packet, end):
                heard = True
            if ended and heard:
                return
            continue
        time = shown_at(packet)
        decoded = packet.dts if packet.dts is not None or reorders else packet.pts
        if begun:
            if decoded is not None and decoded >= clip.end:  # what follows is shown no earlier
                ended = True
                if heard or decoded * tick >= end + _LATE:
                    return
            if not ended:
                yield packet
            continue
        if packet.is_keyframe and (time is None or time <= clip.start):
            held.clear()
        held.append(packet)
        if decoded is not None and decoded >= clip.start:
            begun = True
            yield from held
            held.clear()
    yield from held


def _is_entered(video: OpenVideo, clip: Clip) -> bool:
    """Whether reading begins at a keyframe that is not behind the start of a part, or at the beginning of the file."""
    import av.error

    container, pictures = video.container, video.pictures
    if container.format.name.partition(",")[0] not in _INDEXED or not keyframes_stand_alone(video):
        return True
    for earlier in _EARLIER:
        target = clip.start - int(earlier / (pictures.time_base or Fraction(1)))
        try:
            container.seek(target, stream=pictures, backward=True)
            first = next((one for one in container.demux(pictures) if one.size), None)
            if first is not None and first.is_keyframe and (time := shown_at(first)) is not None and time <= clip.start:
                container.seek(target, stream=pictures, backward=True)
                return True
        except (av.error.FFmpegError, OverflowError):  # without an index
            return False
    return False


def _is_behind(packet: "Packet[Any]", end: Fraction) -> bool:
    time, tick = shown_at(packet), packet.time_base
    return time is not None and tick is not None and time * tick >= end


def _overlaps(packet: "Packet[Any]", start: Fraction, end: Fraction) -> bool:
    time, tick = shown_at(packet), packet.time_base
    if time is None or tick is None:
        return False
    return time * tick < end and (time + max(packet.duration or 0, 1)) * tick > start
