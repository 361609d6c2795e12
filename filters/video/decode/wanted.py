"""What operators ask of the one pass over a video: the kinds of signals, and which frames they want as pictures.

The pass decodes what the union of all operators asks for, so a shard is decoded once, and keyframes alone where nobody
needs every frame.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["KINDS", "Kind", "Wanted"]

Kind: TypeAlias = Literal["packets", "frames", "vectors", "stills", "hashes", "sound"]
KINDS: Final[tuple[Kind, ...]] = ("packets", "frames", "vectors", "stills", "hashes", "sound")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The signals that a watcher sees.

    Attributes:
        kinds: Their kinds; a watcher sees no others.
        stills_side: To what the longer side of stills is shrunk; of several operators, the largest.
        stills_per_second: How many stills a second of the video gives; 0: each keyframe is one.
    """

    kinds: frozenset[Kind] = frozenset()
    stills_side: int = 0
    stills_per_second: float = 0

    def __or__(self, other: "Wanted") -> "Wanted":
        """What both need."""
        return Wanted(
            self.kinds | other.kinds,
            max(self.stills_side, other.stills_side),
            max(self.stills_per_second, other.stills_per_second),
        )


def all_wanted(wanted: Iterable[Wanted]) -> Wanted:
    """What all of these need."""
    found = Wanted()
    for one in wanted:
        found |= one
    return found
