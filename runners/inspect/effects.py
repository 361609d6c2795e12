"""What changed rules change: counts before and after, by language and source, and which rows cross the line."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.runners.inspect.counting import amounts_of, counts_of
from winnow.runners.inspect.frame import Frame, Marks

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Amount:
    """Some rows, and their bytes."""

    rows: int
    bytes: int


@dataclass(frozen=True)
class Side:
    """What stays: before or after."""

    kept: Amount
    by_language: Counts
    by_source: Counts


@dataclass(frozen=True)
class Effect:
    """The counts of a change."""

    before: Side
    after: Side
    dropped_now: int
    kept_now: int


def effect_of(frame: Frame, after: Marks, among: Marks | None) -> Effect:
    """The counts of a change, of all rows or some of them; `after`: the rows that stay."""
    state = frame.kept.view(np.uint8) + (after.view(np.uint8) << np.uint8(1))
    if among is not None:
        state *= among
    languages, sizes = amounts_of(frame.language, len(frame.languages), state, 4, frame.size)
    sources = counts_of(frame.source, len(frame.sources), state, 4)

    def side(one: int) -> Side:
        amount = Amount(int(sources[:, [one, 3]].sum()), int(sizes[one] + sizes[3]))
        return Side(amount, languages[:, one] + languages[:, 3], sources[:, one] + sources[:, 3])

    return Effect(side(1), side(2), int(sources[:, 1].sum()), int(sources[:, 2].sum()))


def side_of(frame: Frame, marks: Marks) -> Side:
    """The counts of marked rows."""
    state = marks.view(np.uint8)
    languages, sizes = amounts_of(frame.language, len(frame.languages), state, 2, frame.size)
    sources = counts_of(frame.source, len(frame.sources), state, 2)
    return Side(Amount(int(sources[:, 1].sum()), int(sizes[1])), languages[:, 1], sources[:, 1])
