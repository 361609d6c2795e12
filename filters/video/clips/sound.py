"""The sound of a clip: whole packets within it, or samples of exactly its length, encoded with Opus."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.video.decode.reading import decoded

if TYPE_CHECKING:
    from av import Packet
    from av.audio.stream import AudioStream
    from av.container import OutputContainer

_RATE: Final = 48_000  # Opus's own
_BIT_RATE: Final = 48_000  # for each channel; Xiph recommends 96 to 128 kbit/s for stereo music
_GAP: Final = _RATE // 20  # samples by which times may be wrong before silence is put in, or samples are left out
_STEP: Final = _RATE  # samples of silence at a time


class CopiedSound:
    """Copies the packets that lie within the clip."""

    def __init__(self, source: "AudioStream", container: "OutputContainer", start: Fraction, seconds: Fraction) -> None:
        tick = source.time_base or Fraction(1)
        self._start = round(start / tick)
        self._end = self._start + int(seconds / tick)
        self._stream = container.add_stream_from_template(source)

    def add(self, packet: "Packet[Any]") -> Iterator["Packet[Any]"]:
        """The packet as it is written, if it is."""
        time = packet.pts
        if time is None or time < self._start or time + (packet.duration or 0) > self._end:
            return
        packet.pts = packet.dts = time - self._start
        packet.stream = self._stream
        yield packet

    def end(self) -> Iterator["Packet[Any]"]:
        """Nothing is held."""
        return iter(())


class EncodedSound:
    """Decodes, cuts to the sample, and encodes."""

    def __init__(self, source: "AudioStream", container: "OutputContainer", start: Fraction, seconds: Fraction) -> None:
        import av
        from av.codec.context import Flags

        self._av = av
        self._source = source
        self._start, self._samples = start, int(seconds * _RATE)
        layout = "mono" if source.codec_context.channels == 1 else "stereo"
        self._stream = container.add_stream("libopus", rate=_RATE, layout=layout)
        self._stream.codec_context.bit_rate = _BIT_RATE * (1 if layout == "mono" else 2)
        self._stream.codec_context.flags |= int(Flags.bitexact)
        self._layout = layout
        self._resampler = av.AudioResampler("flt", layout, _RATE)
        self._at: int | None = None  # samples of the source since the start of the clip, before the next one
        self._given = 0

    def add(self, packet: "Packet[Any]") -> Iterator["Packet[Any]"]:
        """The packets that are complete by now."""
        for frame in decoded(self._source.codec_context, packet):
            time = frame.pts
            if time is not None and frame.time_base is not None:
                expected = int((time * frame.time_base - self._start) * _RATE)
                if self._at is None or abs(expected - self._at) > _GAP:
                    self._at = expected
            frame.pts = None  # times are counted in samples here
            yield from self._resampled(frame)

    def end(self) -> Iterator["Packet[Any]"]:
        """What codecs still hold."""
        for frame in decoded(self._source.codec_context, None):
            frame.pts = None
            yield from self._resampled(frame)
        yield from self._resampled(None)
        if self._given:
            yield from self._stream.encode(None)

    def _resampled(self, frame: Any) -> Iterator["Packet[Any]"]:
        for one in self._resampler.resample(frame):
            values = one.to_ndarray().astype(np.float32, copy=False).reshape(one.samples, -1)
            at = self._at or 0
            self._at = at + len(values)
            if at > self._given and min(at, self._samples) > self._given:
                yield from self._silent(min(at, self._samples) - self._given, values.shape[1])
            first, last = max(self._given - at, 0), min(len(values), self._samples - at)
            if first < last:
                yield from self._encoded(values[first:last])

    def _silent(self, samples: int, channels: int) -> Iterator["Packet[Any]"]:
        while samples > 0:
            count = min(samples, _STEP)
            yield from self._encoded(np.zeros((count, channels), np.float32))
            samples -= count

    def _encoded(self, values: NDArray[np.float32]) -> Iterator["Packet[Any]"]:
        frame = self._av.AudioFrame.from_ndarray(np.ascontiguousarray(values).reshape(1, -1), "flt", self._layout)
        frame.sample_rate, frame.pts, frame.time_base = _RATE, self._given, Fraction(1, _RATE)
        self._given += len(values)
        yield from self._stream.encode(frame)
