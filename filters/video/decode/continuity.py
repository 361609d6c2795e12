"""Times of streams that begin anew within a file: recordings put end to end, and clocks that leap.

Transport and program streams and Ogg may set their clocks anew at any packet, and files of them are joined by putting
one behind the other. A player goes on where it is. As in FFmpeg, a time of decoding that falls behind the last one by a
tenth of a second, or that leaps by more than ten seconds, begins a new stretch, which is shown when the one before it
ends. A time of showing that is as far from that of decoding is none. In other containers times are what they say.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.video.decode.clock import shown_at

if TYPE_CHECKING:
    from av import Packet

_BROKEN_UP: Final = frozenset({"mpegts", "mpeg", "ogg"})  # FFmpeg's AVFMT_TS_DISCONT
_BEHIND: Final = Fraction(1, 10)  # seconds, as in FFmpeg
_LEAP: Final = Fraction(10)  # its dts_delta_threshold
_TOGETHER: Final = Fraction(1)  # by which streams of one stretch may begin apart
_MOST_STRETCHES: Final = 4096  # that are remembered for other streams; no recording has as many


def is_broken_up(container: str) -> bool:
    """Whether a container's clock may be set anew within it; by FFmpeg's name."""
    return container in _BROKEN_UP


class Continuity:
    """Moves the times of packets, so that each stream goes on where it was.

    All streams of a stretch are moved alike, so sound stays with its pictures.
    """

    def __init__(self) -> None:
        self._moved: list[Fraction] = [Fraction(0)]  # seconds by which each stretch is moved
        self._streams: dict[int, _Stream] = {}

    def move(self, packet: "Packet[Any]") -> None:
        """Sets the times of the next packet of the file."""
        time, tick = packet.dts if packet.dts is not None else shown_at(packet), packet.time_base
        if packet.pts is not None and packet.dts is not None and abs(packet.pts - packet.dts) * tick > _LEAP:
            packet.pts = packet.dts  # no codec holds a frame for so long
        stream = self._streams.setdefault(packet.stream_index, _Stream())
        if time is not None:
            seconds = time * tick
            if stream.breaks_at(seconds):
                self._begin(stream, seconds)
            stream.last = seconds + stream.moved
            stream.next = stream.last + max(packet.duration or 0, 0) * tick
        if stream.moved:
            ticks = round(stream.moved / tick)
            for name in ("pts", "dts"):
                before = getattr(packet, name)
                if before is not None:
                    setattr(packet, name, before + ticks)

    def _begin(self, stream: "_Stream", seconds: Fraction) -> None:
        stream.moved = stream.next - seconds
        stream.stretch += 1
        if stream.stretch == len(self._moved) < _MOST_STRETCHES:
            self._moved.append(stream.moved)
        elif stream.stretch < len(self._moved):
            shared = self._moved[stream.stretch]
            if abs(shared - stream.moved) <= _TOGETHER:
                stream.moved = shared


class _Stream:
    """Where a stream is, in seconds as they are moved."""

    def __init__(self) -> None:
        self.stretch = 0
        self.moved = Fraction(0)
        self.last: Fraction | None = None
        self.next = Fraction(0)

    def breaks_at(self, seconds: Fraction) -> bool:
        """Whether a time, as the file says it, begins a new stretch."""
        if self.last is None:
            return False
        now = seconds + self.moved
        return now + _BEHIND < self.last or abs(now - self.next) > _LEAP
