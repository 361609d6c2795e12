"""One pass over a video: its packets are counted, and its first frame is decoded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from winnow.filters.image.decode.stills import DAMAGED, TOO_MANY_FRAMES
from winnow.filters.video.decode.counting import Counting
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import (
    TOO_MANY_PACKETS,
    OpenVideo,
    UnwatchableError,
    VideoLimits,
    open_video,
    translated,
)
from winnow.filters.video.decode.wanted import Signal

if TYPE_CHECKING:
    from av import Packet
    from av.video.frame import VideoFrame

__all__ = ["VideoPass"]


@dataclass
class VideoPass:
    """A pass over a video.

    Attributes:
        file: Open for reading; it can seek, and is not closed.
        mime: Its sniffed type.
        signals: What is wanted of it, each once.
        limits: What it may cost.
        facts: What is known of it when all signals have been given.
    """

    file: IO[bytes]
    mime: str
    wanted: Sequence[Signal]
    limits: VideoLimits
    facts: VideoFacts = field(init=False)

    def signals(self) -> Iterator[tuple[Signal, pa.RecordBatch]]:
        """Yields the batches of each signal in order of time.

        Raises:
            UnwatchableError: It cannot be watched.
        """
        if self.wanted:
            raise NotImplementedError("signals")
        with open_video(self.file, self.mime, self.limits) as video, translated():
            counting, first = Counting(video), None
            for packet in _packets(video):
                counting.add(packet)
                if first is None and packet.stream_index == video.pictures.index:
                    first = _frame_of(packet)
            first = first or next(iter(video.pictures.codec_context.decode(None)), None)
            if first is None:
                raise UnwatchableError(DAMAGED, "no frame can be decoded")
            self.facts = counting.facts(first)
        yield from ()


def _packets(video: OpenVideo) -> Iterator["Packet[Any]"]:
    """The packets that hold anything, in the order of the file, within the limits."""
    count = frames = 0
    for packet in video.container.demux():
        if not packet.size:
            continue
        count += 1
        frames += packet.stream_index == video.pictures.index
        if count > video.limits.max_packets:
            raise UnwatchableError(TOO_MANY_PACKETS, f"more than {video.limits.max_packets:,}")
        if frames > video.limits.max_frames:
            raise UnwatchableError(TOO_MANY_FRAMES, f"more than {video.limits.max_frames:,}")
        yield packet


def _frame_of(packet: "Packet[Any]") -> "VideoFrame | None":
    """The first frame that a packet gives; none of a packet that is damaged, or that waits for others."""
    import av.error

    try:
        return next(iter(packet.decode()), None)
    except av.error.InvalidDataError:
        return None
