"""One pass over a video, or a part of one: packets are counted, and whatever the wanted signals need is decoded.

Keyframes are decoded by a decoder of their own, which sees nothing else unless they depend on what precedes them, so
that they are the same whether or not every frame is decoded too. Times are counted from the first frame shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from winnow.filters.image.decode.stills import TOO_MANY_PIXELS
from winnow.filters.video.decode.clip_packets import open_clip, packets_of_clip
from winnow.filters.video.decode.clock import Clock, shown_at
from winnow.filters.video.decode.collecting import Cues, Frames, Hashes, Packets, Stills, Vectors
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.first_frame import FirstFrame, beginning_of, first_packets, first_tick
from winnow.filters.video.decode.keyframes import keyframes_stand_alone
from winnow.filters.video.decode.opening import (
    OpenVideo,
    UnwatchableError,
    VideoLimits,
    another_decoder,
    translated,
)
from winnow.filters.video.decode.opening_frame import OpeningFrame
from winnow.filters.video.decode.packet_counts import PacketCounts, orientation_of
from winnow.filters.video.decode.reading import decoded, packets_within_limits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.sound import SoundBlocks
from winnow.filters.video.decode.vectors import CODECS

if TYPE_CHECKING:
    from av import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame

Collected: TypeAlias = Packets | Frames | Vectors | Stills | Hashes | SoundBlocks | Cues

# If packets were read, decoded and measured one by one, the code of each step would drop out of the processor's caches.
_TOGETHER: Final = 32  # packets read before they are decoded
_TOGETHER_BYTES: Final = 1 << 20
_HELD_FRAMES: Final = 4  # decoded before they are measured; more would not fit into the caches
_HELD_PIXELS: Final = 600_000


@dataclass
class VideoPass:
    """A pass over a video.

    Attributes:
        file: Open for reading and seekable; it is not closed.
        mime: Its sniffed type.
        wanted: The signals, without duplicates.
        limits: The limits of decoding.
        clip: The part to watch: all measures are of it alone, and times count from its start. None for the whole video.
        facts: The facts, once all signals have been given.
    """

    file: IO[bytes]
    mime: str
    wanted: Sequence[Signal]
    limits: VideoLimits
    clip: Clip | None = None
    facts: VideoFacts = field(init=False)

    def signals(self) -> Iterator[tuple[Signal, pa.RecordBatch]]:
        """The batches of each signal in order of time.

        Raises:
            UnwatchableError: It cannot be read.
        """
        with open_clip(self.file, self.mime, self.limits, self.clip) as video, translated():
            counting = PacketCounts(video, self.clip)
            packets = packets_within_limits(video)
            if self.clip is not None:
                packets = packets_of_clip(video, packets, self.clip)
            packets = _counted(packets, counting)
            ahead = first_packets(video, packets)
            decoder = video.pictures.codec_context
            if any(signal.kind == "vectors" for signal in self.wanted):
                _export_vectors(decoder)
            every = any(_of_every_frame(signal, decoder) for signal in self.wanted)
            # Before anything is decoded: the stream's colours would be taken for the container's.
            of_keyframes = another_decoder(decoder, self.limits) if any(map(_of_keyframes, self.wanted)) else None
            beginning = beginning_of(video, ahead, go_on=every)
            _refuse_size(beginning.first, self.limits)
            start = first_tick(video, ahead) if self.clip is None else self.clip.start
            decoding = _Decoding(video, self.wanted, self.mime, start, beginning, of_keyframes, self.clip)
            for packet in ahead:
                decoding.add(packet)
            ahead.clear()
            yield from decoding.batches()
            for some in _together(packets):
                for packet in some:
                    if decoding.add(packet):
                        yield from decoding.batches()
            decoding.end()
            yield from decoding.batches(end=True)
            self.facts = counting.facts(beginning.first)


class _Decoding:
    """The decoders of a video, and the rows of its signals."""

    def __init__(
        self,
        video: OpenVideo,
        wanted: Sequence[Signal],
        mime: str,
        start: int,
        beginning: FirstFrame,
        of_keyframes: "VideoCodecContext | None",
        clip: Clip | None,
    ) -> None:
        self._video, self._start, self._beginning, self._clip = video, start, beginning, clip
        self._index, self._limits = video.pictures.index, video.limits
        self._pixels = self._held_pixels = 0
        self._is_fuller = False  # whether the last packet gave frames
        self._held: list[tuple[VideoFrame, int, int]] = []  # frames to be measured together, with their ticks and bytes
        self._opening = OpeningFrame(clip)
        tick = video.pictures.time_base
        assert tick is not None
        self._clock, self._key_clock = Clock(start, tick), Clock(start, tick)
        self._packet_end = start  # of the last packet
        self._given: list[tuple[Signal, Collected]] = []
        self._packets: list[Packets] = []
        self._every: list[Frames | Vectors | Hashes] = []
        self._stills: list[Stills] = []  # those at an interval
        self._key_stills: list[Stills] = []
        self._sound: SoundBlocks | None = None
        self._cues: Cues | None = None
        orientation = orientation_of(beginning.first)
        for signal in wanted:
            self._give(signal, mime, orientation)
        self._key_decoder = of_keyframes
        self._keys_stand_alone = keyframes_stand_alone(video)
        self._decoder: VideoCodecContext | None = None
        if self._every or self._stills:
            self._decoder = video.pictures.codec_context

    def _give(self, signal: Signal, mime: str, orientation: int) -> None:
        found: Collected
        if signal.kind == "packets":
            self._packets.append(found := Packets())
        elif signal.kind == "sound":
            self._sound = found = SoundBlocks(signal.level)
        elif signal.kind == "subtitles":
            self._cues = found = Cues(self._start * (self._video.pictures.time_base or Fraction(1)))
        elif signal.kind == "stills":
            found = Stills(signal, mime, orientation)
            (self._key_stills if _of_keyframes(signal) else self._stills).append(found)
        elif signal.kind == "vectors":
            found = Vectors()
            if _of_every_frame(signal, self._video.pictures.codec_context):
                self._every.append(found)
        else:
            self._every.append(found := Frames() if signal.kind == "frames" else Hashes(orientation))
        self._given.append((signal, found))

    def add(self, packet: "Packet[Any]") -> bool:
        """Add the next packet of the file; returns whether batches may have become complete."""
        self._is_fuller = False
        if packet.stream_index == self._index:
            self._opening.expect(packet)
            if self._packets:
                self._count(packet)
            if self._key_decoder is not None:
                self._add_keyframe(self._key_decoder, packet)
            if self._decoder is not None:
                given = self._beginning.given
                frames = given.popleft() if given else decoded(self._decoder, packet, self._limits)
                self._add_frames(frames, packet.size)
        elif self._sound is not None and packet.stream is self._video.sound:
            for frame in decoded(self._video.sound.codec_context, packet):
                self._sound.add(frame)
            self._is_fuller = True
        elif self._cues is not None and packet.stream.type == "subtitle":
            self._cues.add(packet)
        return self._is_fuller

    def end(self) -> None:
        """Add the frames left in decoders."""
        if self._decoder is not None:
            self._add_frames(decoded(self._decoder, None), 0)
            if (before := self._opening.left()) is not None:
                self._give_frame(before, self._start, 0)
            self._give_held()
        if self._sound is not None and self._video.sound is not None:
            for frame in decoded(self._video.sound.codec_context, None):
                self._sound.add(frame)

    def batches(self, *, end: bool = False) -> Iterator[tuple[Signal, pa.RecordBatch]]:
        """The batches that are complete; at the end all."""
        for signal, collected in self._given:
            while (batch := collected.batch(end=end)) is not None:
                yield signal, batch

    def _count(self, packet: "Packet[Any]") -> None:
        if packet.is_discard:
            return
        ticks = shown_at(packet)
        if ticks is None:
            ticks = self._packet_end
        self._packet_end = ticks + max(packet.duration or 0, 1)
        if not self._shows(ticks):
            return
        self._is_fuller = True
        for packets in self._packets:
            packets.add(packet, ticks, self._clock.seconds(ticks))

    def _add_frames(self, frames: "Sequence[VideoFrame]", size: int) -> None:
        for frame in frames:
            self._held_pixels += self._spend(frame)
            ticks = self._clock.ticks(shown_at(frame), frame.duration)
            before = self._opening.before(frame, ticks)
            if before is not None:
                self._give_frame(before, self._start, size)
            if self._shows(ticks):
                self._give_frame(frame, ticks, size)

    def _give_frame(self, frame: "VideoFrame", ticks: int, size: int) -> None:
        self._held.append((frame, ticks, size))
        if len(self._held) == _HELD_FRAMES or self._held_pixels > _HELD_PIXELS:
            self._give_held()

    def _give_held(self) -> None:
        self._is_fuller = True
        for frame, ticks, size in self._held:
            seconds = self._clock.seconds(ticks)
            for one in self._every:
                one.add(frame, ticks, seconds)
            for stills in self._stills:
                stills.add(frame, ticks, seconds, size)
        self._held.clear()
        self._held_pixels = 0

    def _add_keyframe(self, decoder: "VideoCodecContext", packet: "Packet[Any]") -> None:
        is_key = packet.is_keyframe and not packet.is_discard
        if not self._keys_stand_alone:
            frames = decoded(decoder, packet, self._limits)
        elif not is_key:
            return
        elif packet is self._beginning.alone:
            frames = [self._beginning.first]
        else:
            frames = decoded(decoder, packet, self._limits) or decoded(decoder, None)
            decoder.flush_buffers()
        for frame in frames[:1]:
            self._spend(frame)
            ticks = self._key_clock.ticks(shown_at(packet), packet.duration)
            if not is_key or not self._shows(ticks):
                continue
            self._is_fuller = True
            for stills in self._key_stills:
                stills.add(frame, ticks, self._key_clock.seconds(ticks), packet.size)

    def _shows(self, ticks: int) -> bool:
        return self._clip is None or self._clip.shows(ticks)

    def _spend(self, frame: "VideoFrame") -> int:
        limits = self._limits
        pixels = frame.width * frame.height
        self._pixels += pixels
        if pixels > limits.max_pixels:
            _refuse_size(frame, limits)
        if self._pixels > limits.max_decoded_pixels:
            raise UnwatchableError(TOO_MANY_PIXELS, f"more than {limits.max_decoded_pixels:,} in all frames")
        return pixels


def _refuse_size(frame: "VideoFrame", limits: VideoLimits) -> None:
    if frame.width * frame.height > limits.max_pixels:
        raise UnwatchableError(TOO_MANY_PIXELS, f"a frame of {frame.width:,} x {frame.height:,} pixels")


def _counted(packets: "Iterator[Packet[Any]]", counting: PacketCounts) -> "Iterator[Packet[Any]]":
    for packet in packets:
        counting.add(packet)
        yield packet


def _together(packets: "Iterator[Packet[Any]]") -> "Iterator[list[Packet[Any]]]":
    """Group packets."""
    some: list[Packet[Any]] = []
    size = 0
    for packet in packets:
        some.append(packet)
        size += packet.size
        if len(some) == _TOGETHER or size >= _TOGETHER_BYTES:
            yield some
            some, size = [], 0
    yield some


def _of_every_frame(signal: Signal, decoder: "VideoCodecContext") -> bool:
    """Whether a signal needs every frame decoded."""
    if signal.kind == "vectors":
        return decoder.codec.canonical_name in CODECS
    return signal.kind in ("frames", "hashes") or (signal.kind == "stills" and signal.seconds is not None)


def _of_keyframes(signal: Signal) -> bool:
    return signal.kind == "stills" and signal.seconds is None


def _export_vectors(decoder: "VideoCodecContext") -> None:
    from av.codec.context import Flags2

    decoder.flags2 |= int(Flags2.export_mvs)  # before the decoder is opened
