"""The packets of a video within its limits, and the frames that they give; damage costs only what is damaged."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from winnow.filters.image.decode.stills import TOO_LARGE, TOO_MANY_FRAMES, TOO_MANY_PIXELS
from winnow.filters.video.decode.continuity import Continuity, is_broken_up
from winnow.filters.video.decode.opening import (
    TOO_MANY_PACKETS,
    OpenVideo,
    UnwatchableError,
    VideoLimits,
    another_decoder,
    complaints,
)

if TYPE_CHECKING:
    from av import Packet
    from av.sidedata.sidedata import SideData
    from av.video.frame import VideoFrame

_Frame = TypeVar("_Frame")

_MOST_DAMAGED_READS: Final = 100


_TOO_MANY: Final = re.compile(r"size (\d+)x(\d+) exceeds")  # as FFmpeg and dav1d complain of `max_pixels`


class _Decoder(Protocol[_Frame]):
    def decode(self, packet: "Packet[Any] | None") -> list[_Frame]: ...


def packets_within_limits(video: OpenVideo) -> Iterator["Packet[Any]"]:
    """The packets that hold anything, in the order of the file, within the limits.

    Reading goes on behind damage, as a player does. Packets get times that their container does not have. Times go on
    where its clock is set anew; in other containers those that leap ahead and come back are taken away.
    """
    packets = video.retiming.timed(_read(video))
    if is_broken_up(video.container.format.name):
        continuity = Continuity()
        for packet in packets:
            continuity.move(packet)
            yield packet
    else:
        yield from video.leaps.settled(packets)


def _read(video: OpenVideo) -> Iterator["Packet[Any]"]:
    import av.error

    limits, pictures = video.limits, video.pictures.index
    count = frames = damaged = 0
    while True:
        try:
            for packet in video.container.demux():
                if not packet.size:
                    continue
                count += 1
                frames += packet.stream_index == pictures
                if count > limits.max_packets:
                    raise UnwatchableError(TOO_MANY_PACKETS, f"more than {limits.max_packets:,}")
                if frames > limits.max_frames:
                    raise UnwatchableError(TOO_MANY_FRAMES, f"more than {limits.max_frames:,}")
                if packet.size > limits.max_packet_bytes:
                    raise UnwatchableError(TOO_LARGE, f"a packet of {packet.size:,} bytes")
                yield packet
        except av.error.InvalidDataError:
            damaged += 1
            if damaged < _MOST_DAMAGED_READS:
                continue
        except IndexError:  # PyAV, at the end of a file in which a stream began that it did not know when it opened it
            pass
        return


def decoded(
    decoder: "_Decoder[_Frame]", packet: "Packet[Any] | None", limits: VideoLimits | None = None
) -> "list[_Frame]":
    """The frames that a packet gives; none of one that is damaged, as players go on behind it.

    Args:
        decoder: Of pictures or of sound.
        packet: The next one; None at the end.
        limits: Those of pictures.

    Raises:
        UnwatchableError: Its frame has more pixels than the limits allow.
    """
    try:
        return decoder.decode(packet)
    except Exception as error:
        if not _is_of_damage(error, decoder, packet, limits):
            raise
        return []


def _is_of_damage(
    error: Exception, decoder: "_Decoder[Any]", packet: "Packet[Any] | None", limits: VideoLimits | None
) -> bool:
    """Whether a decoder says that a packet, or the end of the stream, gives no frame."""
    import av.error

    if isinstance(error, av.error.ArgumentError | av.error.MemoryError | av.error.OverflowError):  # among others
        if packet is not None and limits is not None:
            refuse_large_frame(decoder, packet, limits)
        return False
    return isinstance(error, EOFError | av.error.FFmpegError)


def refuse_large_frame(decoder: "_Decoder[Any]", packet: "Packet[Any]", limits: VideoLimits) -> None:
    """Raises UnwatchableError if a packet is not decoded because its frame is too large.

    Decoders say so in their log alone; another one looks at the packet for it.
    """

    def looked_at() -> None:
        fresh = another_decoder(decoder, limits)
        fresh.decode(packet) or fresh.decode(None)

    for said in complaints(looked_at):
        if (size := _TOO_MANY.search(said)) is not None:
            width, height = (int(side) for side in size.groups())
            raise UnwatchableError(TOO_MANY_PIXELS, f"a frame of {width:,} x {height:,} pixels")


def side_data_of(frame: "VideoFrame", kind: str) -> "SideData | None":
    """What a decoder says beside a frame's pixels; None where it says nothing of this kind.

    `frame.side_data` would tie the frame to itself: it and its pixels would stay in memory until Python looks for
    cycles, hundreds of frames later.
    """
    from av.sidedata.sidedata import SideDataContainer

    container: Any = SideDataContainer  # its published type does not know what it is made of
    found: SideData | None = container(frame).get(kind)
    return found
