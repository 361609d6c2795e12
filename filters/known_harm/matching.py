"""Compares media with lists of known harm: equal digests, or a PDQ hash within a radius."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winnow.filters.duplicates.bits import count_bits
from winnow.filters.known_harm.lists import HarmList, HashKind
from winnow.schemas.kernels import kernel


@dataclass(frozen=True, slots=True)
class HarmMatch:
    """A medium that a list names."""

    name: str  # of the list
    kind: HashKind
    distance: int = 0  # in bits, of PDQ

    def __str__(self) -> str:
        near = f" at {self.distance} bits" if self.kind == "pdq" else ""
        return f"list {self.name} by {self.kind}{near}"


@dataclass(frozen=True, slots=True)
class Nearness:
    """When PDQ hashes match: in at most so many bits apart, of a picture of at least this quality."""

    radius: int
    min_quality: int


class HarmMatcher:
    """Looks media up in lists, in the order of the recipe.

    Args:
        lists: The lists.
        nearness: For each list, how near a PDQ hash must be to one of its own.

    Attributes:
        kinds: The kinds of hashes that media are needed for.
    """

    def __init__(self, lists: Sequence[HarmList], nearness: Sequence[Nearness]) -> None:
        self.kinds: frozenset[HashKind] = frozenset(kind for one in lists for kind in one.hashes)
        self._digests = [
            (one.name, kind, frozenset(map(bytes, held)))
            for one in lists
            for kind, held in one.hashes.items()
            if kind != "pdq"
        ]
        self._hashes = [
            (one.name, held.view("<u8").reshape(-1, 4), near)
            for one, near in zip(lists, nearness, strict=True)
            for kind, held in one.hashes.items()
            if kind == "pdq"
        ]

    def by_digest(self, kind: HashKind, digest: bytes) -> HarmMatch | None:
        """The first list that has this SHA-256 or MD5."""
        return next(
            (HarmMatch(name, kind) for name, own, held in self._digests if own == kind and digest in held), None
        )

    def by_pdq(self, bits: bytes, quality: int) -> HarmMatch | None:
        """The first list with a hash within its radius, and how far the nearest one is."""
        wanted = np.frombuffer(bits, "<u8")
        for name, held, near in self._hashes:
            if quality >= near.min_quality and (distance := int(_nearest(held, wanted))) <= near.radius:
                return HarmMatch(name, "pdq", distance)
        return None


@kernel
def _nearest(hashes, wanted):  # type: ignore[no-untyped-def]
    """In how few bits a hash differs from this one."""
    least = np.int64(257)
    for row in range(len(hashes)):
        apart = np.int64(0)
        for word in range(4):
            apart += np.int64(count_bits(hashes[row, word] ^ wanted[word]))
        least = min(least, apart)
    return least
