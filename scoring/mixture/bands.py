"""Share a language among its bands as cut by the plan: `b00`, `b01` … ascending, `01x2` with repeats, `null`.

A band with weight zero is never used. Texts without a value are dropped or kept: if kept, they belong to the upper part
of a `top`, are used once next to bands with repeats, and get their own share next to weights or a softmax.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Final

from winnow.schemas.recipe.mix import BandLevel
from winnow.scoring.mixture.cells import Cell
from winnow.scoring.mixture.filling import EXACT

NULL: Final = "null"
_NOTHING: Final = Decimal(0)
_LOWEST: Final = Decimal(-690)  # the exponent of a weight that is tiny but not zero


def number(band: str) -> int:
    """A band's number, from its name."""
    digits = band[1:]
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{band!r}: expected a band's name, such as b01")
    return int(digits)


def takes(level: BandLevel | None, cell: Cell) -> bool:
    """Whether a band is used."""
    if level is None:
        return True
    band = cell.stratum.band
    if band == NULL:
        return level.nulls == "keep"
    if level.top is not None:
        return number(band) > 0
    if level.weights is not None:
        return level.weights[number(band)] > 0
    return times(level, cell) > 0


def times(level: BandLevel | None, cell: Cell) -> int:
    """How often a band's texts are used without other limits."""
    if level is None or (level.rehydrate is None and level.repeats is None) or cell.stratum.band == NULL:
        return 1
    if cell.repeats is None:
        raise ValueError(f"{cell.stratum}: says no repeats")
    return cell.repeats


def band_weights(level: BandLevel | None, cells: Sequence[Cell]) -> list[Decimal]:
    """The weights of one language's bands; zero for never."""
    with localcontext(EXACT):
        units = [Decimal(cell.available.units) if takes(level, cell) else _NOTHING for cell in cells]
        if level is None or (level.softmax is None and level.weights is None):
            return [own * times(level, cell) for own, cell in zip(units, cells, strict=True)]
        banded = [cell.stratum.band != NULL for cell in cells]
        if level.weights is not None:
            written = level.weights
            weights = [
                Decimal(repr(written[number(cell.stratum.band)])) if own and has else _NOTHING
                for own, has, cell in zip(units, banded, cells, strict=True)
            ]
        else:
            assert level.softmax is not None
            weights = _softmax(
                level.softmax, units, [cell if has else None for has, cell in zip(banded, cells, strict=True)]
            )
        whole = sum(weights, _NOTHING)
        room = sum((own for own, has in zip(units, banded, strict=True) if has), _NOTHING)
        return [
            one * room / whole if one else (_NOTHING if has else own)
            for own, has, one in zip(units, banded, weights, strict=True)
        ]


def _softmax(tau: float, units: Sequence[Decimal], cells: Sequence[Cell | None]) -> list[Decimal]:
    """Units times exp of the distance to the best band's mean over the temperature; None is no band."""
    scores = [None if cell is None else _score(cell) for cell in cells]
    best = max((score for score in scores if score is not None), default=_NOTHING)
    temperature = Decimal(repr(tau))
    return [
        _NOTHING if score is None else own * max((score - best) / temperature, _LOWEST).exp()
        for own, score in zip(units, scores, strict=True)
    ]


def _score(cell: Cell) -> Decimal:
    if cell.score is None or not math.isfinite(cell.score):
        raise ValueError(f"{cell.stratum}: the mean of its band is {cell.score}; a softmax needs a number")
    return Decimal(repr(cell.score))
