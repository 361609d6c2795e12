"""Distribute an amount over children in whole units, by weight and within each child's limit.

A unit goes to the child with the fewest for its weight, as in Webster's rule for seats; a full child's part goes to the
others in proportion. So a larger amount gives no child less, which largest-remainder rules do not guarantee, and a draw
of a larger budget contains the smaller one's. All arithmetic is in integers, and other weights are first rounded to a
number of decimal digits that gives the same result on every machine.
"""

import heapq
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

DIGITS: Final = 12
LEAST: Final = Decimal("1e-300")
"""A positive weight is at least this fraction of the largest, so that integers stay bounded."""
EXACT: Final = Context(prec=28, rounding=ROUND_HALF_EVEN)
"""Decimals, including `exp` and `ln`, are correctly rounded: unlike floats, they are the same everywhere."""


def distributed(weights: Sequence[int], amount: int, most: Sequence[int] | None = None) -> list[int]:
    """Distribute the amount in whole units, by the children's weights.

    Args:
        weights: The weight of each child, above zero.
        amount: The amount; at most what the children can take together.
        most: The limit of each child; None for unlimited.
    """
    if most is None:
        most = [amount] * len(weights)
    room = sum(most)
    if amount > room:
        raise ValueError(f"{amount} units do not fit into {room}")
    if amount == room:
        return list(most)
    left, weight = _level(weights, amount, most)
    # Every unit due at this level: exactly what distributing one unit at a time has given by then.
    given = [min(cap, (2 * own * left + weight) // (2 * weight)) for own, cap in zip(weights, most, strict=True)]
    missing = amount - sum(given)
    if missing > 0:
        _add(weights, given, most, missing)
    elif missing < 0:
        _take(weights, given, -missing)
    return given


def quantised(weights: Sequence[Decimal], digits: int = DIGITS) -> list[int]:
    """Positive weights as integers: fractions of their sum, rounded to this many significant digits."""
    with localcontext(EXACT):
        total, floor = sum(weights, Decimal(0)), max(weights) * LEAST
    rounding = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    parts = [rounding.divide(max(one, floor), total).normalize(rounding) for one in weights]
    shift = -min(_exponent(part) for part in parts)
    return [int(part.scaleb(shift, EXACT)) for part in parts]


def exactly(number: float) -> Fraction:
    """A setting exactly as written: 0.1 is a tenth."""
    return Fraction(repr(number))


def _exponent(part: Decimal) -> int:
    exponent = part.as_tuple().exponent
    assert isinstance(exponent, int)  # a number
    return exponent


def _level(weights: Sequence[int], amount: int, most: Sequence[int]) -> tuple[int, int]:
    """The water level: units per weight."""
    left, weight = amount, sum(weights)
    if all(cap * weight >= own * left for own, cap in zip(weights, most, strict=True)):
        return left, weight
    # In order of cap over weight the children fill up as the level rises: one pass finds it.
    shift = _shift(weights)
    for place in sorted(range(len(weights)), key=lambda place: (most[place] << shift) // weights[place]):
        if most[place] * weight >= weights[place] * left:
            break
        left -= most[place]
        weight -= weights[place]
    return left, weight


def _shift(weights: Sequence[int]) -> int:
    """The bits after which quotients by these weights, truncated to integers, compare like the exact ones.

    Two that differ do so by at least one over the product of their weights.
    """
    return 2 * max(weights).bit_length()


def _add(weights: Sequence[int], given: list[int], most: Sequence[int], count: int) -> None:
    """Add one unit to the next ones; in a tie the earlier first."""
    shift = _shift(weights)
    turns = [
        ((2 * has + 1 << shift) // weights[place], place)
        for place, (has, cap) in enumerate(zip(given, most, strict=True))
        if has < cap
    ]
    heapq.heapify(turns)
    for _ in range(count):
        _, place = turns[0]
        given[place] += 1
        if given[place] < most[place]:
            heapq.heapreplace(turns, ((2 * given[place] + 1 << shift) // weights[place], place))
        else:
            heapq.heappop(turns)


def _take(weights: Sequence[int], given: list[int], count: int) -> None:
    """Take one unit from the last ones."""
    shift = _shift(weights)
    turns = [(-((2 * has - 1 << shift) // weights[place]), -place) for place, has in enumerate(given) if has]
    heapq.heapify(turns)
    for _ in range(count):
        place = -turns[0][1]
        given[place] -= 1
        if given[place]:
            heapq.heapreplace(turns, (-((2 * given[place] - 1 << shift) // weights[place]), -place))
        else:
            heapq.heappop(turns)
