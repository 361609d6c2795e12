"""What operators request from the one pass over a video: signals of several kinds, and for stills the frames and size.

The pass decodes what all operators need together, so a video is decoded once, and only its keyframes if no operator
needs every frame. The values of a signal depend on the video and the signal, never on other requests.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["packets", "frames", "vectors", "stills", "hashes", "sound", "subtitles"]
KINDS: Final[tuple[Kind, ...]] = ("packets", "frames", "vectors", "stills", "hashes", "sound", "subtitles")


@dataclass(frozen=True, slots=True)
class Clip:
    """A part of a video, in ticks of its video stream: the frames shown from `start` to before `end`."""

    start: int
    end: int

    def shows(self, ticks: int) -> bool:
        """Whether a frame of this time belongs to the part."""
        return self.start <= ticks < self.end


@dataclass(frozen=True, slots=True)
class Signal:
    """What a watcher sees: batches of one kind.

    Attributes:
        kind: Its columns are in `winnow.filters.video.decode.signals.SCHEMAS`.
        side: For stills: the size to which the longer side is shrunk; None for all pixels.
        seconds: For stills: one picture per so many seconds; None for keyframes, which cost a fraction of all frames.
        level: For sound: dB of full scale up to which a sample is quiet.
    """

    kind: Kind
    side: int | None = None
    seconds: float | None = None
    level: float | None = None
