"""The packets of a video within its limits, and the frames that they give; damage costs only what is damaged."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from winnow.filters.image.decode.stills import TOO_LARGE, TOO_MANY_FRAMES
from winnow.filters.video.decode.opening import TOO_MANY_PACKETS, OpenVideo, UnwatchableError

if TYPE_CHECKING:
    from av import Packet

__all__ = ["decoded", "packets_within_limits"]

_Frame = TypeVar("_Frame")

_MOST_DAMAGED_READS: Final = 100


class _Decoder(Protocol[_Frame]):
    def decode(self, packet: "Packet[Any] | None") -> list[_Frame]: ...


def packets_within_limits(video: OpenVideo) -> Iterator["Packet[Any]"]:
    """The packets that hold anything, in the order of the file, within the limits.

    Reading goes on behind damage, as a player does.
    """
    import av.error

    limits = video.limits
    count = frames = damaged = 0
    while True:
        try:
            for packet in video.container.demux():
                if not packet.size:
                    continue
                count += 1
                frames += packet.stream_index == video.pictures.index
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
        return


def decoded(decoder: "_Decoder[_Frame]", packet: "Packet[Any] | None") -> "list[_Frame]":
    """The frames that a packet gives; none of one that is damaged, as players go on behind it."""
    import av.error

    with suppress(EOFError, av.error.InvalidDataError, av.error.PatchWelcomeError, av.error.ExternalError):
        return decoder.decode(packet)
    return []
