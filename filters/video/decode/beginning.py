"""What a pass learns from the first packets of a video: when it begins, and its first frame.

A first frame tells the size, the format and the orientation, which headers only claim. It is decoded once: where every
frame is wanted, the decoder goes on behind it; where keyframes are, it is the first of them.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.image.decode.stills import DAMAGED
from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.opening import OpenVideo, UnwatchableError
from winnow.filters.video.decode.reading import decoded, refuse_large_frame

if TYPE_CHECKING:
    from av import Packet
    from av.video.frame import VideoFrame

_AHEAD_PACKETS: Final = 32  # of pictures, from which the first frame is told: no codec reorders more
_MOST_AHEAD: Final = 4096  # packets that are held while there is no keyframe to begin with
_MOST_AHEAD_BYTES: Final = 64 << 20
_MOST_EXAMINED: Final = 4  # keyframes, for why they cannot be decoded
_MOST_BEFORE: Final = 4  # frames that are held because they are shown before the first keyframe
_UNSPECIFIED_MATRIX: Final = 2  # AVCOL_SPC_UNSPECIFIED
_UNSPECIFIED_RANGE: Final = 0  # AVCOL_RANGE_UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first frame, and what was decoded for it.

    Attributes:
        first: The first keyframe, or whatever can be decoded first.
        given: For each of the first packets of pictures the frames that the stream's decoder has given, where it goes
            on behind them; else it is as new.
        alone: The packet that any decoder makes this first frame of, by itself; None if that is not sure.
    """

    first: "VideoFrame"
    given: "deque[list[VideoFrame]]" = field(default_factory=deque)
    alone: "Packet[Any] | None" = None


def first_packets(video: OpenVideo, packets: "Iterator[Packet[Any]]") -> "list[Packet[Any]]":
    """The first packets: enough of them to know when the video begins, and to see a first frame."""
    found: list[Packet[Any]] = []
    pictures = size = 0
    has_key = False
    for packet in packets:
        found.append(packet)
        size += packet.size
        if packet.stream_index == video.pictures.index and not packet.is_discard:
            pictures += 1
            has_key |= packet.is_keyframe
        if (has_key and pictures >= _AHEAD_PACKETS) or len(found) >= _MOST_AHEAD or size >= _MOST_AHEAD_BYTES:
            break
    return found


def first_tick(video: OpenVideo, ahead: "Sequence[Packet[Any]]") -> int:
    """Ticks of the first frame that is shown."""
    shown = [one for one in ahead if one.stream_index == video.pictures.index and not one.is_discard]
    times = [shown_at(one) for one in shown]
    return min((one for one in times if one is not None), default=0)


def beginning_of(video: OpenVideo, ahead: "Sequence[Packet[Any]]", *, go_on: bool) -> Beginning:
    """Decodes the first frame.

    Args:
        video: Nothing of which has been decoded.
        ahead: Its first packets.
        go_on: Whether the stream's decoder will be given the same packets again, in order.

    Raises:
        UnwatchableError: None of the first frames can be decoded.
    """
    pictures = [one for one in ahead if one.stream_index == video.pictures.index]
    in_turn = _in_turn(video, pictures) if go_on and pictures and pictures[0].is_keyframe else None
    return in_turn or _by_itself(video, pictures)


def _in_turn(video: OpenVideo, pictures: "Sequence[Packet[Any]]") -> Beginning | None:
    """The first keyframe as it comes in turn; None, and a decoder as new, if it does not come soon."""
    decoder = video.pictures.codec_context
    given: deque[list[VideoFrame]] = deque()
    for packet in pictures:
        given.append(decoded(decoder, packet, video.limits))
        for frame in given[-1]:
            if frame.key_frame:
                return Beginning(frame, given)
        if sum(map(len, given)) > _MOST_BEFORE:
            break
    decoder.flush_buffers()
    return None


def _by_itself(video: OpenVideo, pictures: "Sequence[Packet[Any]]") -> Beginning:
    """The first keyframe by itself, or whatever can be decoded first; the decoder is as new afterwards."""
    decoder = video.pictures.codec_context
    try:
        for packet in pictures:
            if packet.is_keyframe:
                found = decoded(decoder, packet, video.limits) or decoded(decoder, None)
                decoder.flush_buffers()
                if found:
                    return Beginning(found[0], alone=packet if _has_no_colours(found[0]) else None)
        for each in (*pictures, None):
            found = decoded(decoder, each, video.limits)
            if found:
                return Beginning(found[0])
    finally:
        decoder.flush_buffers()
    for packet in [one for one in pictures if one.is_keyframe][:_MOST_EXAMINED]:
        refuse_large_frame(decoder, packet, video.limits)
    raise UnwatchableError(DAMAGED, "none of its first frames can be decoded")


def _has_no_colours(frame: "VideoFrame") -> bool:
    """Whether neither the stream nor its container says how colours are to be read: other decoders see the stream."""
    return frame.colorspace == _UNSPECIFIED_MATRIX and frame.color_range == _UNSPECIFIED_RANGE
