"""Gives frames times that their container does not have, before anything else is made of their packets.

AVI has no times, only the order of decoding. H.264's own headers say in which order frames are shown; the first that is
shown gets the first packet's time, and so on.

A Matroska file may begin before zero, and FFmpeg gives those packets no time. They are shown before the first that has
one, each for its duration.
"""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.showing_order import Place, ShowingOrder

if TYPE_CHECKING:
    from av import Packet
    from av.container import InputContainer
    from av.stream import Stream

_MOST_REORDERED: Final = 16  # frames, in H.264
_MOST_HELD: Final = 8192  # packets of all streams: Matroska begins at most 33 s before zero
_MOST_HELD_BYTES: Final = 64 << 20


class Retiming:
    """Gives packets of a video times.

    Args:
        container: The video's container.
        pictures: Its stream of pictures.
        sound: That of sound.

    Attributes:
        count: How many packets of pictures had none.
    """

    def __init__(self, container: "InputContainer", pictures: "Stream", sound: "Stream | None") -> None:
        self.count = 0
        self._pictures = pictures.index
        self._sound = -1 if sound is None else sound.index
        context = pictures.codec_context
        self._order = ShowingOrder(context.extradata) if context.codec.canonical_name == "h264" else None
        self._has_no_times = self._order is not None and container.format.name == "avi"
        self._loses_times = container.format.name.startswith("matroska")  # those below zero, and no others

    def timed(self, packets: "Iterator[Packet[Any]]") -> "Iterator[Packet[Any]]":
        """The packets in the same order."""
        packets = self._before_the_first_time(packets)
        if self._has_no_times and self._order is not None:
            return _in_order(packets, self._pictures, self._order)
        return packets

    def _before_the_first_time(self, packets: "Iterator[Packet[Any]]") -> "Iterator[Packet[Any]]":
        """All packets, after those that come before the first time of their stream have got theirs."""
        pictures, sound = _Early(_MOST_REORDERED, self._loses_times), _Early(1, False)
        streams = {self._pictures: pictures, self._sound: sound}
        held: list[Packet[Any]] = []
        size = 0
        for packet in packets:
            held.append(packet)
            size += packet.size
            if (early := streams.get(packet.stream_index)) is not None:
                early.add(packet)
            if pictures.has_begun and pictures.is_settled and sound.is_settled:
                break
            if len(held) >= _MOST_HELD or size >= _MOST_HELD_BYTES:
                break
        self.count += pictures.place(self._order)
        sound.place(None)
        yield from held
        held.clear()
        yield from packets


class _Early:
    """The first packets of a stream that have no time, until some that have one are known.

    Args:
        enough: How many of them tell when the first one is shown.
        among: Whether those without a time that are decoded among these are shown before them, too.
    """

    def __init__(self, enough: int, among: bool) -> None:
        self._enough, self._among = enough, among
        self._untimed: list[Packet[Any]] = []
        self._times: list[int] = []
        self.has_begun = False

    @property
    def is_settled(self) -> bool:
        return not self._untimed or len(self._times) >= self._enough

    def add(self, packet: "Packet[Any]") -> None:
        """The next packet of the stream."""
        self.has_begun = True
        if (time := shown_at(packet)) is not None:
            self._times.append(time)
        elif not self._times or (self._among and self._untimed and not self.is_settled):
            self._untimed.append(packet)

    def place(self, order: ShowingOrder | None) -> int:
        """Gives them times; returns how many have got one."""
        if not self._untimed or not self._times:
            return 0
        times = sorted(self._times)
        apart = [after - before for before, after in pairwise(times) if after > before]
        step = min(apart, default=1)
        places = [None if order is None else order.place(bytes(one)) for one in self._untimed]
        pairs = sorted(zip(_known(places), self._untimed, strict=True), key=lambda pair: pair[0])
        time = times[0]
        for _, packet in reversed(pairs):
            time -= packet.duration if packet.duration and packet.duration > 0 else step
            packet.pts = time
        decoded = times[0]
        for packet in reversed(self._untimed):  # each is decoded before it, or what follows it, is shown
            assert packet.pts is not None
            decoded = packet.dts = min(decoded, packet.pts)
        return len(self._untimed)


def _known(places: "list[Place | None]") -> "list[Place]":
    """The places, or those of the file where any is unknown."""
    known = [one for one in places if one is not None]
    return known if len(known) == len(places) else [(0, number) for number in range(len(places))]


def _in_order(packets: "Iterator[Packet[Any]]", index: int, order: ShowingOrder) -> "Iterator[Packet[Any]]":
    """The packets, those of pictures with the times at which they are shown."""
    held: deque[Packet[Any]] = deque()
    coming: deque[tuple[Place, int]] = deque()  # place and time of decoding of each picture that is held
    gone: deque[tuple[Place, int]] = deque(maxlen=_MOST_REORDERED)  # and of those before
    size = 0
    place: Place = (0, 0)

    def released() -> "Packet[Any]":
        packet = held.popleft()
        if packet.stream_index == index and packet.dts is not None:
            own = coming[0][0]
            later = sum(one < own for one, _ in coming)
            earlier = sum(one > own for one, _ in gone)
            times = [time for _, time in (*gone, *coming)]
            gone.append(coming.popleft())
            packet.pts = times[len(times) - len(coming) - 1 + later - earlier]
            packet.dts = times[0]
        return packet

    for packet in packets:
        held.append(packet)
        size += packet.size
        if packet.stream_index == index and packet.dts is not None:
            place = order.place(bytes(packet)) or place  # of a damaged one, that of the one before
            coming.append((place, packet.dts))
        while held and (
            len(coming) > _MOST_REORDERED
            or held[0].stream_index != index
            or held[0].dts is None
            or len(held) > _MOST_HELD
            or size > _MOST_HELD_BYTES
        ):
            size -= held[0].size
            yield released()
    while held:
        yield released()
