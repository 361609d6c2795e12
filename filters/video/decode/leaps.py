"""Times of frames that leap ahead and come back: damage to a number, which no frame of a film has.

Codecs show a frame at most some frames later than they decode it. So one that says it is shown more than a second after
all before it, but before which many that follow it in the file are shown, says what is not so: it and its like lose
their times, and are shown when the frame before them ends. A pause is none of these: nothing behind it comes back. At
the end of a file nothing can come back; there it is a leap if it is far longer than any pause before, and leads beyond
what the container says that it lasts.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.video.decode.clock import shown_at

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

_SUSPICIOUS: Final = 1  # second ahead of all frames before
_MOST_REORDERED: Final = 16  # frames, in H.264 and HEVC; other codecs reorder fewer
_MOST_HELD: Final = 1024  # frames that are looked at: more than a cluster or fragment of five seconds has
_MOST_HELD_PACKETS: Final = 8192  # of all streams
_MOST_HELD_BYTES: Final = 16 << 20
_UNLIKE: Final = 8  # times the longest pause before


class Leaps:
    """Takes the times from packets of pictures that leap.

    Attributes:
        count: How many packets lost theirs.
    """

    def __init__(self, pictures: "VideoStream", declared: int | None) -> None:
        """`declared` is how long the container says that it lasts, in microseconds."""
        tick = pictures.time_base or Fraction(1)
        self.count = 0
        self._index = pictures.index
        self._suspicious = int(_SUSPICIOUS / tick)
        self._declared = None if declared is None else int(Fraction(declared, 1_000_000) / tick)
        self._held: deque[Packet[Any]] = deque()
        self._times: list[int] = []  # of held pictures, sorted
        self._bytes = 0
        self._first = 0
        self._latest: int | None = None
        self._pause = 0  # the longest

    def settled(self, packets: "Iterator[Packet[Any]]") -> "Iterator[Packet[Any]]":
        """The packets in the same order, each once it is known whether it leaps."""
        for packet in packets:
            self._hold(packet)
            while self._held and self._settle(at_end=False):
                yield self._released()
        while self._held:
            self._settle(at_end=True)
            yield self._released()

    def _hold(self, packet: "Packet[Any]") -> None:
        self._held.append(packet)
        self._bytes += packet.size
        if (time := self._time(packet)) is not None:
            insort(self._times, time)

    def _released(self) -> "Packet[Any]":
        packet = self._held.popleft()
        self._bytes -= packet.size
        return packet

    def _time(self, packet: "Packet[Any]") -> int | None:
        return shown_at(packet) if packet.stream_index == self._index else None

    def _settle(self, *, at_end: bool) -> bool:
        """Whether the next packet can be given; if it leaps, it has no time any more."""
        packet = self._held[0]
        time = self._time(packet)
        if time is None:
            return True
        if self._latest is None:
            if len(self._times) <= _MOST_REORDERED + 1 and not at_end and not self._is_full():
                return False
            self._first = self._latest = self._times[0]
        ahead = time - self._latest
        place = bisect_left(self._times, time)  # so many of those that are held come before it
        if ahead > self._suspicious:
            leaps = place > _MOST_REORDERED
            if not leaps and not at_end and not self._is_full():
                return False
            if leaps or (at_end and self._is_beyond(time, ahead)):
                packet.pts = packet.dts = None
                self.count += 1
                ahead = 0
        del self._times[place]
        if ahead > 0:
            self._latest = time
            self._pause = max(self._pause, ahead)
        return True

    def _is_full(self) -> bool:
        return len(self._times) > _MOST_HELD or len(self._held) > _MOST_HELD_PACKETS or self._bytes > _MOST_HELD_BYTES

    def _is_beyond(self, time: int, ahead: int) -> bool:
        if self._declared is None or len(self._times) > _MOST_REORDERED + 1:
            return False
        return time - self._first > self._declared + self._suspicious and ahead > _UNLIKE * self._pause
