"""Estimates when work will end from its speed; times are arguments, so that tests need not wait.

Work comes in lumps: a task that is committed, a file or some thousand rows that are read. So the pace is that of half
the time since the start, from one lump to another: while one is awaited that is not late, the time left counts down as
a clock does. Nothing is said before a few lumps have come, and what is said moves slowly towards what the pace says.
"""

import math

LEAST_SECONDS = 10.0  # that are looked back over
SHARE_LOOKED_BACK = 0.35  # of the time since the start
FIRST_SECONDS = 5.0  # before which nothing is said
FEWEST_STEPS = 5  # of the share, before which nothing is said: the first tasks to end are the small ones
EARLY_SECONDS = 60.0  # before which nothing is said of work of which less than EARLY_SHARE is done
EARLY_SHARE = 0.15
STALLED = 0.2  # of the mean pace: work that goes slower than this waits for something, and nobody knows how long
FARTHEST = 1_000  # times what has passed: the first bytes of a file say nothing of days
LEAST_TURN_SECONDS = 8.0  # in which what is said moves most of the way to what the pace says
SHARE_OF_TURN = 0.1  # the same, of what is left


class Pace:
    """The share of the work done per second, weighing recent work more, and the estimated end."""

    def __init__(self, began: float) -> None:
        """`began`: the start, in seconds. The pace counts from the first finished work."""
        self._began = self._at = began
        self._share = 0.0
        self._steps = 0
        self._done = self._seconds = 0.0  # both fade with time
        self._lumped = began  # when the share last grew
        self._longest = 0.0  # wait for it to grow, which fades as well
        self._end: float | None = None
        self._told_since = began

    def update(self, now: float, share: float) -> None:
        """Add the share of the work that is done now."""
        if not self._steps:  # workers start for as long as they like, and say nothing of the pace
            if share > 0:
                self._began, self._at, self._lumped, self._share, self._steps = now, now, now, share, 1
            return
        passed = now - self._at
        if passed <= 0:
            return
        self._at = now
        if share > self._share:
            waited = now - self._lumped
            self._done, self._seconds, fading = self._after(waited, share - self._share)
            self._longest = max(self._longest * fading, waited)
            self._lumped, self._share, self._steps = now, share, self._steps + 1
        left = self._left_at_this_pace()
        if left is None or self._end is None:
            self._end, self._told_since = None if left is None else now + left, now
            return
        turn = max(LEAST_TURN_SECONDS, min(now - self._told_since, SHARE_OF_TURN * max(left, self._end - now)))
        self._end += (now + left - self._end) * (1 - math.exp(-passed / turn))

    @property
    def seconds_left(self) -> float | None:
        """The time until all is done; None if it is not known yet."""
        return None if self._end is None else max(0.0, self._end - self._at)

    def _left_at_this_pace(self) -> float | None:
        passed = self._at - self._began
        if self._steps < FEWEST_STEPS or passed < FIRST_SECONDS or self._share >= 1:
            return None
        if passed < EARLY_SECONDS and self._share < EARLY_SHARE:
            return None
        waited = self._at - self._lumped
        due = self._longest if self._longest > LEAST_SECONDS else 0.0  # until then, the next lump is not late
        done, seconds, _ = self._after(max(0.0, waited - due), 0.0)
        if done / seconds < STALLED * self._share / passed:
            return None
        left = max(0.0, (1 - self._share) * seconds / done - min(waited, due))
        return left if left <= FARTHEST * passed else None

    def _after(self, seconds: float, step: float) -> tuple[float, float, float]:
        """What is done and in which time, after so many more seconds with a step; and how much of the rest is left."""
        window = max(LEAST_SECONDS, SHARE_LOOKED_BACK * (self._at - self._began))
        fading = math.exp(-seconds / window)
        lately = window * (1 - fading)
        return self._done * fading + step * lately / (seconds or 1.0), self._seconds * fading + lately, fading


def clock(seconds: float) -> str:
    """`0:07`, `12:34`, `3:04:05`."""
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02d}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02d}"
