"""When the frames that a decoder gives are shown, whatever their timestamps say."""

from fractions import Fraction
from typing import Protocol

_MOST_TICKS = 1 << 61


class _Timed(Protocol):
    """A packet or a frame."""

    @property
    def pts(self) -> int | None: ...

    @property
    def dts(self) -> int | None: ...


def shown_at(timed: _Timed) -> int | None:
    """The tick at which a packet or a frame says that it is shown: AVI and some streams only say when to decode it."""
    return timed.pts if timed.pts is not None else timed.dts


class Clock:
    """Times of frames, each after the last.

    A frame without a time, or with one that is not after the last frame's, is shown when the last one ends; where that
    has no duration, after as long as the frame before it was shown.

    Args:
        start: Ticks of the first frame.
        tick: Seconds a tick.
    """

    def __init__(self, start: int, tick: Fraction) -> None:
        self._start, self._numerator, self._denominator = start, tick.numerator, tick.denominator
        self._last: int | None = None
        self._step = 1  # from the last frame to the next, if that has no time

    def ticks(self, time: int | None, duration: int | None) -> int:
        """The time of the next frame, given what its timestamps say."""
        last = self._last
        if last is None:
            found = self._start if time is None else time
        elif time is None or time <= last or time > _MOST_TICKS:
            found = last + self._step
        else:
            found = time
            self._step = time - last
        if duration is not None and 0 < duration < _MOST_TICKS:
            self._step = duration
        self._last = found
        return found

    def seconds(self, ticks: int) -> float:
        """A time since the first frame."""
        return (ticks - self._start) * self._numerator / self._denominator
