"""The frame with which a part of a video begins: the one that is shown then, though it began before.

A part cut at shots begins where a frame does. A piece of a long shot may begin anywhere: where rates vary, or a still
stands for a minute, its first frame is one that is shown already, and may be its only one.
"""

from typing import TYPE_CHECKING, Any

from winnow.filters.video.decode.clock import shown_at
from winnow.filters.video.decode.wanted import Clip

if TYPE_CHECKING:
    from av import Packet
    from av.video.frame import VideoFrame


class OpeningFrame:
    """Holds the last frame before a part until its first one comes.

    Args:
        clip: The part; None for a whole video, which begins with its first frame.
    """

    def __init__(self, clip: Clip | None) -> None:
        self._clip = clip
        self._held: VideoFrame | None = None
        self._held_until = 0  # the tick at which it ends, by its own duration
        self._is_looked_for = clip is not None
        self._is_followed = False  # by a frame behind the part's start

    def expect(self, packet: "Packet[Any]") -> None:
        """The next packet: one whose frame begins with the part is its first, even if it cannot be decoded."""
        if not self._is_looked_for or self._clip is None or (time := shown_at(packet)) is None:
            return
        self._is_followed |= time > self._clip.start
        if time == self._clip.start:
            self._is_looked_for, self._held = False, None

    def before(self, frame: "VideoFrame", ticks: int) -> "VideoFrame | None":
        """The frame to show when the part begins, before this one, which is shown at a tick; None if there is none."""
        if not self._is_looked_for or self._clip is None:
            return None
        if ticks < self._clip.start:
            self._held, self._held_until = frame, ticks + (frame.duration or 0)
            return None
        return self.left()

    def left(self) -> "VideoFrame | None":
        """What is held, once: at the end it is all that the part shows. None behind the end of the video."""
        held, self._held = self._held, None
        self._is_looked_for = False
        if self._clip is None or not (self._is_followed or self._held_until > self._clip.start):
            return None
        return held
