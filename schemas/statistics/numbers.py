"""Least, greatest, sum and histogram of numbers, all exact but the histogram's bins.

A float is an integer times a power of two, so a sum of floats has an exact value, which no order of addition can
change. It is kept as that: an odd integer and an exponent. Infinities and NaN are counted apart and take part in
nothing else; -0.0 counts as zero.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import Json
from winnow.schemas.statistics.histogram import Histogram, float_bins, integer_bins
from winnow.schemas.statistics.reading import count, integer, mapping, number, pairs

_LOW_BITS = 26
_LOW_MASK = (1 << _LOW_BITS) - 1


@dataclass(slots=True)
class IntegerStatistics:
    """Integers of up to 64 bits: lengths, counts, sizes, time stamps."""

    minimum: int | None = None
    maximum: int | None = None
    sum: int = 0
    histogram: Histogram = field(default_factory=lambda: Histogram("integer"))

    @property
    def count(self) -> int:
        """How many numbers there were."""
        return self.histogram.count

    def add(self, values: NDArray[np.integer]) -> None:
        """Count the values."""
        if len(values) == 0:
            return
        self._extend(int(values.min()), int(values.max()))
        self.sum += exact_integer_sum(values)
        self.histogram.add(integer_bins(values))

    def _extend(self, low: int, high: int) -> None:
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)

    def absorb(self, other: "IntegerStatistics") -> None:
        """Add the other's numbers to these."""
        if other.minimum is not None and other.maximum is not None:
            self._extend(other.minimum, other.maximum)
        self.sum += other.sum
        self.histogram.absorb(other.histogram)

    def quantile(self, fraction: float) -> int | None:
        """The value at this fraction, within the histogram's relative error and never outside the extremes."""
        middle = self.histogram.quantile(fraction)
        if middle is None or self.minimum is None or self.maximum is None:
            return None
        return min(max(int(middle), self.minimum), self.maximum)

    def mean(self) -> float | None:
        """The exact mean, rounded once."""
        return _rounded(Fraction(self.sum, self.count)) if self.count else None

    def to_json(self) -> Json:
        """As plain values; the sum is text, for it may not fit 64 bits."""
        return {
            "min": self.minimum,
            "max": self.maximum,
            "sum": str(self.sum),
            "bins": [list(pair) for pair in self.histogram.bins()],
        }

    @classmethod
    def from_json(cls, written: Json) -> "IntegerStatistics":
        """What `to_json` wrote; KeyError or ValueError if it is not that."""
        value = mapping(written)
        low, high = value["min"], value["max"]
        return cls(
            None if low is None else integer(low),
            None if high is None else integer(high),
            integer(value["sum"]),
            Histogram("integer", pairs(value["bins"])),
        )


@dataclass(slots=True)
class FloatStatistics:
    """Floats of up to 64 bits: scores, shares, seconds. The sum is `mantissa * 2**exponent`, exactly."""

    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    minimum: float | None = None
    maximum: float | None = None
    sum: Fraction = Fraction(0)
    histogram: Histogram = field(default_factory=lambda: Histogram("float"))

    @property
    def count(self) -> int:
        """How many finite numbers there were."""
        return self.histogram.count

    def add(self, values: NDArray[np.floating]) -> None:
        """Count the values."""
        finite = np.isfinite(values)
        if not finite.all():
            self.nan += int(np.isnan(values).sum())
            self.positive_infinity += int(np.isposinf(values).sum())
            self.negative_infinity += int(np.isneginf(values).sum())
            values = values[finite]
        if len(values) == 0:
            return
        wide = values.astype(np.float64)
        self._extend(float(wide.min()), float(wide.max()))
        self.sum += exact_float_sum(wide)
        self.histogram.add(float_bins(wide))

    def _extend(self, low: float, high: float) -> None:
        # Adding 0.0 turns -0.0 into 0.0, so that equal extremes are equal bytes.
        self.minimum = (low if self.minimum is None else min(self.minimum, low)) + 0.0
        self.maximum = (high if self.maximum is None else max(self.maximum, high)) + 0.0

    def absorb(self, other: "FloatStatistics") -> None:
        """Add the other's numbers to these."""
        self.nan += other.nan
        self.positive_infinity += other.positive_infinity
        self.negative_infinity += other.negative_infinity
        if other.minimum is not None and other.maximum is not None:
            self._extend(other.minimum, other.maximum)
        self.sum += other.sum
        self.histogram.absorb(other.histogram)

    def quantile(self, fraction: float) -> float | None:
        """The finite value at this fraction, within the histogram's relative error and never outside the extremes."""
        middle = self.histogram.quantile(fraction)
        if middle is None or self.minimum is None or self.maximum is None:
            return None
        return min(max(middle, self.minimum), self.maximum)

    def mean(self) -> float | None:
        """The exact mean of the finite values, rounded once."""
        return _rounded(self.sum / self.count) if self.count else None

    def to_json(self) -> Json:
        """As plain values; the sum is text, `mantissa` and `exponent` of two."""
        exponent = 1 - self.sum.denominator.bit_length()  # the denominator is a power of two
        return {
            "nan": self.nan,
            "inf": self.positive_infinity,
            "-inf": self.negative_infinity,
            "min": self.minimum,
            "max": self.maximum,
            "sum": [hex(self.sum.numerator), exponent],
            "bins": [list(pair) for pair in self.histogram.bins()],
        }

    @classmethod
    def from_json(cls, written: Json) -> "FloatStatistics":
        """What `to_json` wrote; KeyError or ValueError if it is not that."""
        value = mapping(written)
        low, high = value["min"], value["max"]
        mantissa, exponent = _sum_parts(value["sum"])
        return cls(
            count(value["nan"]),
            count(value["inf"]),
            count(value["-inf"]),
            None if low is None else number(low),
            None if high is None else number(high),
            Fraction(mantissa, 1 << -exponent),
            Histogram("float", pairs(value["bins"])),
        )


def exact_integer_sum(values: NDArray[np.integer]) -> int:
    """The sum without overflow: both halves of 64 bits are added apart."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    half = wide.dtype.type(32)
    high, low = wide >> half, wide & wide.dtype.type(0xFFFF_FFFF)
    return (int(high.sum()) << 32) + int(low.sum())


def exact_float_sum(values: NDArray[np.float64]) -> Fraction:
    """The sum without rounding: 53-bit mantissas are added as integers, one exponent at a time."""
    fractions, exponents = np.frexp(values)
    order = np.argsort(exponents, kind="stable")
    exponents = exponents[order]
    mantissas = np.ldexp(fractions[order], 53).astype(np.int64)
    starts = np.flatnonzero(np.diff(exponents, prepend=exponents[0] - 1))
    high = np.add.reduceat(mantissas >> _LOW_BITS, starts)
    low = np.add.reduceat(mantissas & _LOW_MASK, starts)
    total = Fraction(0)
    for upper, lower, exponent in zip(high.tolist(), low.tolist(), exponents[starts].tolist(), strict=True):
        total += Fraction((upper << _LOW_BITS) + lower) * Fraction(2) ** (exponent - 53)
    return total


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.nextafter(math.inf, 0), value)


def _sum_parts(value: Json) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise ValueError("a sum that is not [mantissa, exponent]")
    exponent = integer(value[1])
    if not -1100 <= exponent <= 0:
        raise ValueError("a sum whose exponent is out of range")
    return int(value[0], 16), exponent
