"""Divides connected groups of similar members into stars, whose members are all similar to their centre.

If A is similar to B and B to C, all three are connected, whether A is similar to C or not; over many pairs such chains
connect what has nothing in common. A star is a centre and some of the members similar to it. Centres are chosen by a
greedy cover: the member that most others are similar to, or the first of several; then the same among the rest. A
member goes to its most similar centre. The result depends only on the members and their order by id.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

_LINES: Final = 256  # members compared with others at once

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MemberSimilarities:
    """The similarities of some members with others, in both directions, and whether they suffice."""

    there: NDArray[np.float64]
    back: NDArray[np.float64]
    enough: NDArray[np.bool_]


Compare: TypeAlias = Callable[[Positions, Positions], MemberSimilarities]
"""Compares each of some members with each of others."""


@dataclass(frozen=True, slots=True)
class Stars:
    """The star of each member; all arrays are positions among the members."""

    centre: Positions
    matched: Positions  # the most similar member of the same star; itself if it is alone
    there: NDArray[np.float64]  # the similarity to that one
    back: NDArray[np.float64]


def stars(count: int, compare: Compare) -> Stars | None:
    """Divide members into stars; None if all are similar to one centre, so that nothing needs cutting."""
    every = np.arange(count)
    bits = np.concatenate([np.packbits(compare(some, every).enough, axis=1) for some in _parts(every)])
    chosen = _centres(bits, count)
    if len(chosen) == 1:
        return None
    centre = np.empty(count, np.int64)
    for some in _parts(every):
        found = compare(some, chosen)
        centre[some] = chosen[np.where(found.enough, found.there + found.back, -1.0).argmax(axis=1)]
    centre[chosen] = chosen
    matched, there, back = every.copy(), np.zeros(count), np.zeros(count)
    order = np.argsort(centre, kind="stable")
    bounds = np.flatnonzero(np.diff(centre[order], prepend=-1, append=-1))
    for begin, end in itertools.pairwise(bounds.tolist()):
        fellows = order[begin:end]
        for some in _parts(fellows) if len(fellows) > 1 else ():
            found = compare(some, fellows)
            likely = np.where(some[:, None] == fellows, -1.0, found.there + found.back)
            best = likely.argmax(axis=1)
            lines = np.arange(len(some))
            matched[some], there[some], back[some] = fellows[best], found.there[lines, best], found.back[lines, best]
    return Stars(centre, matched, there, back)


def _centres(bits: NDArray[np.uint8], count: int) -> Positions:
    """The centres, that of the largest star first; each line of bits marks the members similar to one."""
    degree = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    left = np.ones(count, np.bool_)
    found = []
    while left.any():
        centre = int(np.where(left, degree, -1).argmax())
        taken = np.unpackbits(bits[centre], count=count).astype(np.bool_) & left
        taken[centre] = True
        left &= ~taken
        for some in np.array_split(np.flatnonzero(taken), np.count_nonzero(taken) // _LINES + 1):
            degree -= np.unpackbits(bits[some], axis=1, count=count).sum(axis=0, dtype=np.int64)
        found.append(centre)
    return np.array(found, np.int64)


def _parts(members: Positions) -> list[Positions]:
    return [members[begin : begin + _LINES] for begin in range(0, len(members), _LINES)]
