"""Loudness, power and peaks of sound in blocks of a tenth of a second, as ITU-R BS.1770 weighs it.

Samples pass the two filters of the K-weighting, made for any rate as in FFmpeg's `ebur128`. The powers of channels are
added up; those behind the listener count 1.41 times, those of low frequencies not at all.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.video.decode.signals import BLOCK_SECONDS, SCHEMAS
from winnow.schemas.kernels import arithmetic

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame

_BEHIND: Final = frozenset({"BL", "BC", "BR", "TBL", "TBC", "TBR", "SL", "SR", "SDL", "SDR"})
_LOW: Final = frozenset({"LFE", "LFE2"})
_BATCH_BLOCKS: Final = 600  # a minute
_MOST_CHANNELS: Final = 64
_SCALES: Final = {"u1": (128.0, 1 / 128), "i2": (0.0, 1 / 32768), "i4": (0.0, 1 / 2147483648), "i8": (0.0, 2.0**-63)}


class SoundBlocks:
    """Folds decoded sound into blocks."""

    def __init__(self, level: float | None = None) -> None:
        self._quiet = -1.0 if level is None else 10 ** (level / 20)  # the largest sample that is quiet
        self._state = np.zeros((0, 4), np.float64)  # of the filters, by channel
        self._format: tuple[int, int] = (0, 0)  # rate and channels
        self._weights = np.empty(0, np.float64)
        self._filters = np.empty((2, 5), np.float64)
        self._open = np.zeros(3, np.float64)  # of the block that is being filled: weighted, squares, peak
        self._loud = np.full(2, -1, np.int64)  # the first and the last of its samples that are not quiet
        self._filled = 0  # samples in it
        self._number = 0  # blocks since the format changed
        self._seconds = 0.0  # when it changed
        self._done: list[tuple[float, int, int, float, float, float, int, int]] = []

    def add(self, frame: "AudioFrame") -> None:
        """The next decoded samples."""
        rate, channels = frame.sample_rate, frame.layout.nb_channels
        if not (0 < rate < 1 << 20 and 0 < channels <= _MOST_CHANNELS and frame.samples):
            return
        if (rate, channels) != self._format:
            self._change(rate, frame)
        samples = _samples(frame, channels)
        at = 0
        while at < samples.shape[1]:
            size = self._length() - self._filled
            part = samples[:, at : at + size]
            _weigh(part, self._weights, self._filters, self._state, self._open)
            loud = np.flatnonzero((np.abs(part) > self._quiet).any(axis=0))  # on any channel
            if len(loud):
                self._loud[0] = self._filled + loud[0] if self._loud[0] < 0 else self._loud[0]
                self._loud[1] = self._filled + loud[-1]
            self._filled += part.shape[1]
            at += size
            if self._filled == self._length():
                self._close()

    def batch(self, *, end: bool = False) -> pa.RecordBatch | None:
        """The blocks that are complete, once there are enough of them; at the end all."""
        if end and self._filled:
            self._close()
        if not self._done or (len(self._done) < _BATCH_BLOCKS and not end):
            return None
        columns = zip(*self._done, strict=True)
        schema = SCHEMAS["sound"]
        self._done, done = [], [pa.array(one, form.type) for one, form in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(done, schema=schema)

    def _change(self, rate: int, frame: "AudioFrame") -> None:
        if self._filled:
            self._close()
        self._seconds += self._start(self._number) if self._format[0] else 0.0
        self._format = rate, frame.layout.nb_channels
        self._number = 0
        names = [channel.name for channel in frame.layout.channels]
        self._weights = np.array([0.0 if one in _LOW else 1.41 if one in _BEHIND else 1.0 for one in names])
        self._filters = _filters(rate)
        self._state = np.zeros((len(names), 4), np.float64)

    def _start(self, block: int) -> float:
        return _sample_of(block, self._format[0]) / self._format[0]

    def _length(self) -> int:
        rate = self._format[0]
        return max(_sample_of(self._number + 1, rate) - _sample_of(self._number, rate), 1)

    def _close(self) -> None:
        rate, channels = self._format
        weighted, squares, peak = self._open.tolist()
        start = self._seconds + self._start(self._number)
        first, last = self._loud.tolist()
        quiet = (self._filled, self._filled) if first < 0 else (first, self._filled - 1 - last)
        powers = weighted / self._filled, squares / self._filled / channels
        self._done.append((start, self._filled, rate, *powers, peak, *quiet))
        self._open[:], self._loud[:] = 0.0, -1
        self._filled = 0
        self._number += 1


def _sample_of(block: int, rate: int) -> int:
    """The first sample of a block: those of odd rates do not all have the same length."""
    return int(block * rate * BLOCK_SECONDS + 1e-6)


def _samples(frame: "AudioFrame", channels: int) -> NDArray[np.float64]:
    """Channels of samples, where 1 is full scale."""
    found: NDArray[Any] = frame.to_ndarray()
    if not frame.format.is_planar:
        found = found.reshape(-1, channels).T
    zero, scale = _SCALES.get(found.dtype.str[1:], (0.0, 1.0))
    real = np.ascontiguousarray(found, np.float64)
    if scale != 1.0:
        real = (real - zero) * scale
    return np.nan_to_num(real, copy=False, nan=0.0, posinf=0.0, neginf=0.0)


def _filters(rate: int) -> NDArray[np.float64]:
    """b0, b1, b2, a1 and a2 of the shelf and of the high pass, from the analogue filters behind BS.1770's tables."""
    k = np.tan(np.pi * 1681.974450955533 / rate)
    q, gain = 0.7071752369554196, 10.0 ** (3.999843853973347 / 20)
    middle = gain**0.4996667741545416
    norm = 1 + k / q + k * k
    shelf = [
        (gain + middle * k / q + k * k) / norm,
        2 * (k * k - gain) / norm,
        (gain - middle * k / q + k * k) / norm,
        2 * (k * k - 1) / norm,
        (1 - k / q + k * k) / norm,
    ]
    k = np.tan(np.pi * 38.13547087602444 / rate)
    q = 0.5003270373238773
    norm = 1 + k / q + k * k
    return np.array([shelf, [1.0, -2.0, 1.0, 2 * (k * k - 1) / norm, (1 - k / q + k * k) / norm]])


@arithmetic
def _weigh(samples, weights, filters, state, found):  # type: ignore[no-untyped-def]
    b0, b1, b2, a1, a2 = filters[0]
    _, _, _, c1, c2 = filters[1]
    for channel in range(samples.shape[0]):
        s1, s2, t1, t2 = state[channel]
        weighted = squares = peak = 0.0
        for at in range(samples.shape[1]):
            value = samples[channel, at]
            squares += value * value
            peak = max(peak, abs(value))
            shelved = b0 * value + s1
            s1 = b1 * value - a1 * shelved + s2
            s2 = b2 * value - a2 * shelved
            passed = shelved + t1
            t1 = -2.0 * shelved - c1 * passed + t2
            t2 = shelved - c2 * passed
            weighted += passed * passed
        for place, left in enumerate((s1, s2, t1, t2)):
            state[channel, place] = left if abs(left) > 1e-30 else 0.0  # numbers below the smallest take long
        found[0] += weights[channel] * weighted
        found[1] += squares
        found[2] = max(found[2], peak)
