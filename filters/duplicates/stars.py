"""Cuts chains: divides what is joined by similar pairs into stars, whose members are all similar to their centre.

Where A is like B and B like C, all three are joined, whether A is like C or not; over many pairs such chains hold what
has nothing in common. A star keeps a centre and some of those that are like it. Centres are chosen as in the greedy
cover of a graph: the one that most others are like, the first of several; then the same among the rest. A member goes
to the centre that it is most like. All depends on the members alone and their order, which is that of their ids.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Compare", "Likeness", "Stars", "stars"]

_LINES: Final = 256  # members compared with all at once

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Of some members to all: how similar each is to each, the other way round, and whether that is enough."""

    there: NDArray[np.float64]
    back: NDArray[np.float64]
    enough: NDArray[np.bool_]


Compare: TypeAlias = Callable[[slice], Likeness]
"""Compares the members of a slice with all members."""


@dataclass(frozen=True, slots=True)
class Stars:
    """What each member has come to; all are positions among the members."""

    centre: Positions
    matched: Positions  # the most similar one of the same star; itself if it is alone
    there: NDArray[np.float64]  # how similar it is to that one
    back: NDArray[np.float64]


def stars(count: int, compare: Compare) -> Stars | None:
    """Divide members into stars; None if one centre is like all of them, so that nothing is to be cut."""
    bits = np.concatenate([np.packbits(compare(lines).enough, axis=1) for lines in _slices(count)])
    chosen = _centres(bits, count)
    if len(chosen) == 1:
        return None
    centre = np.empty(count, np.int64)
    for lines in _slices(count):
        found = compare(lines)
        likely = np.where(found.enough[:, chosen], found.there[:, chosen] + found.back[:, chosen], -1.0)
        centre[lines] = chosen[likely.argmax(axis=1)]
    centre[chosen] = chosen
    matched, there, back = np.arange(count), np.zeros(count), np.zeros(count)
    for lines in _slices(count):
        found = compare(lines)
        at = np.arange(count)[lines]
        fellow = centre[at][:, None] == centre[None]
        fellow[np.arange(len(at)), at] = False
        likely = np.where(fellow, found.there + found.back, -1.0)
        best = likely.argmax(axis=1)
        mine = np.flatnonzero(fellow.any(axis=1))
        matched[at[mine]] = best[mine]
        there[at[mine]], back[at[mine]] = found.there[mine, best[mine]], found.back[mine, best[mine]]
    return Stars(centre, matched, there, back)


def _centres(bits: NDArray[np.uint8], count: int) -> Positions:
    """The centres, that of the largest star first; of bits, a line has those that its member is like."""
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


def _slices(count: int) -> list[slice]:
    return [slice(begin, begin + _LINES) for begin in range(0, count, _LINES)]
