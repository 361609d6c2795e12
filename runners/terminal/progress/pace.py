"""How fast work goes, smoothed, and when it will end; its times are given, so that it can be tested without waiting."""

import math

LEAST_SECONDS = 10.0  # that are looked back over
SHARE_LOOKED_BACK = 0.2  # of the time since the start: an hour is not judged by its last seconds
FIRST_SECONDS = 2.0  # before which nothing is said
EARLY_SECONDS = 60.0  # before which nothing is said of work of which less than EARLY_SHARE is done
EARLY_SHARE = 0.02
STALLED = 0.1  # of the mean pace: work that goes slower than this waits for something, and nobody knows how long
FARTHEST = 1_000  # times what has passed: the first bytes of a file say nothing of days


class Pace:
    """The share of the work that is done a second, weighing what was done lately more."""

    def __init__(self, began: float) -> None:
        """`began`: the time of the start, in seconds."""
        self._began = self._at = began
        self._share = 0.0
        self._done = self._seconds = 0.0  # both fade with time

    def update(self, now: float, share: float) -> None:
        """Take in the share of the work that is done now."""
        passed = now - self._at
        if passed <= 0:
            return
        back = max(LEAST_SECONDS, SHARE_LOOKED_BACK * (now - self._began))
        fading = math.exp(-passed / back)
        self._done = self._done * fading + max(0.0, share - self._share)
        self._seconds = self._seconds * fading + passed
        self._at, self._share = now, max(share, self._share)

    @property
    def seconds_left(self) -> float | None:
        """The time until all is done; None if that cannot be said yet."""
        if self._done <= 0 or self._at - self._began < FIRST_SECONDS or self._share >= 1:
            return None
        if self._at - self._began < EARLY_SECONDS and self._share < EARLY_SHARE:
            return None
        if self._done / self._seconds < STALLED * self._share / (self._at - self._began):
            return None
        left = (1 - self._share) * self._seconds / self._done
        return left if left <= FARTHEST * (self._at - self._began) else None


def clock(seconds: float) -> str:
    """`0:07`, `12:34`, `3:04:05`."""
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02d}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02d}"
