"""The packets that a part of a video needs: those from the keyframe before it to its end.

Containers with an index are entered at that keyframe, so a part of a film costs about what a film of its length does;
others are read from their beginning, without decoding. Where keyframes need what is before them, all packets from the
beginning are given. Sound is that of the same time, which in a file may come behind
later pictures: by a fragment, or by what a multiplexer delays.
"""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.keyframes import keyframes_stand_alone
from winnow.filters.video.decode.opening import OpenVideo
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet

__all__ = ["packets_of_clip"]

_INDEXED: Final = frozenset({"mov", "matroska"})
_LATE: Final = 10  # seconds of pictures behind the end, among which sound of the part is looked for


def packets_of_clip(video: OpenVideo, packets: "Iterator[Packet[Any]]", clip: Clip) -> "Iterator[Packet[Any]]":
    """Those of a video's packets, which nobody has asked for yet, that are needed to show a part of it."""
    begun = not keyframes_stand_alone(video)
    if not begun:
        _enter(video, clip)
    tick = video.pictures.time_base or Fraction(1)
    start, end = clip.start * tick, clip.end * tick
    held: list[Packet[Any]] = []  # since the last keyframe that is not behind the start
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
        decoded = packet.dts if packet.dts is not None else packet.pts
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


def _enter(video: OpenVideo, clip: Clip) -> None:
    """Go to the last keyframe that is not behind the start, where the container knows it."""
    import av.error

    if video.container.format.name.partition(",")[0] in _INDEXED:
        with suppress(av.error.FFmpegError):  # without an index: from the beginning
            video.container.seek(clip.start, stream=video.pictures, backward=True)


def _is_behind(packet: "Packet[Any]", end: Fraction) -> bool:
    time, tick = shown_at(packet), packet.time_base
    return time is not None and tick is not None and time * tick >= end


def _overlaps(packet: "Packet[Any]", start: Fraction, end: Fraction) -> bool:
    time, tick = shown_at(packet), packet.time_base
    if time is None or tick is None:
        return False
    return time * tick < end and (time + max(packet.duration or 0, 1)) * tick > start
