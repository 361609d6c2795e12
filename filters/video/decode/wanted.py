"""What operators ask of the one pass over a video: signals, each of a kind, and of stills which frames at which size.

The pass decodes what all operators together need, so a video is decoded once, and only its keyframes where nobody needs
every frame. Each gets its own signals: their values depend on the video and the signal, never on what others asked for.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["KINDS", "Clip", "Kind", "Signal"]

Kind: TypeAlias = Literal["packets", "frames", "vectors", "stills", "hashes", "sound", "subtitles"]
KINDS: Final[tuple[Kind, ...]] = ("packets", "frames", "vectors", "stills", "hashes", "sound", "subtitles")


@dataclass(frozen=True, slots=True)
class Clip:
    """A part of a video, in ticks of the stream of pictures: the frames that are shown from `start` to before `end`."""

    start: int
    end: int

    def shows(self, ticks: int) -> bool:
        """Whether a frame of this time is in the part."""
        return self.start <= ticks < self.end


@dataclass(frozen=True, slots=True)
class Signal:
    """What a watcher sees: the batches of one kind.

    Attributes:
        kind: Its columns are those of `winnow.filters.video.decode.signals.SCHEMAS`.
        side: Of stills: to what the longer side is shrunk; None for every pixel.
        seconds: Of stills: one picture in so many seconds; None for keyframes, which cost a fraction of all frames.
        level: Of sound: dB of full scale up to which a sample is quiet.
    """

    kind: Kind
    side: int | None = None
    seconds: float | None = None
    level: float | None = None
