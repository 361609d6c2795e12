"""What changed rules change: counts before and after, by language and source, and how many rows cross the line."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.runners.inspect.counting import Weights, amounts_of
from winnow.runners.inspect.frame import Frame, Marks

Amounts = NDArray[np.int64]
"""By code: how many rows there are, and their amount in some unit, such as bytes."""


@dataclass(frozen=True)
class Side:
    """What stays: before or after."""

    by_language: Amounts
    by_source: Amounts

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.by_source[:, 0].sum())

    @property
    def amount(self) -> int:
        """Their amount."""
        return int(self.by_source[:, 1].sum())


@dataclass(frozen=True)
class Effect:
    """The counts of a change."""

    before: Side
    after: Side
    dropped_now: int
    kept_now: int


def effect_of(frame: Frame, after: Marks, among: Marks | None, weights: Weights) -> Effect:
    """The counts of a change, of all rows or some of them; `after`: the rows that stay."""
    state = frame.kept.view(np.uint8) + (after.view(np.uint8) << np.uint8(1))
    if among is not None:
        state *= among
    languages = amounts_of(frame.language, len(frame.languages), state, 4, weights)
    sources = amounts_of(frame.source, len(frame.sources), state, 4, weights)
    before, now = (Side(languages[:, one] + languages[:, 3], sources[:, one] + sources[:, 3]) for one in (1, 2))
    return Effect(before, now, int(sources[:, 1, 0].sum()), int(sources[:, 2, 0].sum()))


def side_of(frame: Frame, marks: Marks, weights: Weights) -> Side:
    """The counts of marked rows."""
    state = marks.view(np.uint8)
    languages = amounts_of(frame.language, len(frame.languages), state, 2, weights)
    sources = amounts_of(frame.source, len(frame.sources), state, 2, weights)
    return Side(languages[:, 1], sources[:, 1])
