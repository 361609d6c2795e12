"""Minimum, maximum, sum and histogram of numbers; all exact except the histogram's bins.

A float is an integer times a power of two, so a sum of floats has an exact value, independent of the order of
addition. It is stored as an odd integer and an exponent. Infinities and NaN are only counted; -0.0 counts as zero.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import Json
from winnow.schemas.statistics.histogram import Histogram, float_bins, integer_bins
from winnow.schemas.typed_json import Count

_LOW_BITS = 26
_LOW_MASK = (1 << _LOW_BITS) - 1


class WrittenIntegers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Integers' statistics in JSON; the sum is text, as it may exceed 64 bits."""

    min: int | None
    max: int | None
    sum: Annotated[str, msgspec.Meta(pattern="^-?[0-9]{1,40}$")]
    bins: list[tuple[int, Count]]


class WrittenFloats(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"positive_infinity": "inf", "negative_infinity": "-inf"},
):
    """Floats' statistics in JSON; the sum is a mantissa in hexadecimal digits and an exponent of two."""

    nan: Count
    positive_infinity: Count
    negative_infinity: Count
    min: float | None
    max: float | None
    sum: tuple[Annotated[str, msgspec.Meta(pattern="^-?0x[0-9a-f]+$")], Annotated[int, msgspec.Meta(ge=-1100, le=0)]]
    bins: list[tuple[int, Count]]


@dataclass(slots=True)
class IntegerStatistics:
    """Integers of up to 64 bits: lengths, counts, sizes, time stamps."""

    minimum: int | None = None
    maximum: int | None = None
    sum: int = 0
    histogram: Histogram = field(default_factory=lambda: Histogram("integer"))

    @property
    def count(self) -> int:
        """The number of values."""
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
        """The value at this fraction, within the histogram's relative error and within the extremes."""
        middle = self.histogram.quantile(fraction)
        if middle is None or self.minimum is None or self.maximum is None:
            return None
        return min(max(int(middle), self.minimum), self.maximum)

    def mean(self) -> float | None:
        """The exact mean, rounded once."""
        return _rounded(Fraction(self.sum, self.count)) if self.count else None

    def to_json(self) -> Json:
        """Plain values for JSON."""
        return {
            "min": self.minimum,
            "max": self.maximum,
            "sum": str(self.sum),
            "bins": [list(pair) for pair in self.histogram.bins()],
        }

    @classmethod
    def from_json(cls, written: "WrittenIntegers") -> "IntegerStatistics":
        """The inverse of `to_json`."""
        return cls(written.min, written.max, int(written.sum), Histogram("integer", dict(written.bins)))


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
        """The number of finite values."""
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
        # Adding 0.0 turns -0.0 into 0.0, so that equal extremes have equal bytes.
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
        """The finite value at this fraction, within the histogram's relative error and within the extremes."""
        middle = self.histogram.quantile(fraction)
        if middle is None or self.minimum is None or self.maximum is None:
            return None
        return min(max(middle, self.minimum), self.maximum)

    def mean(self) -> float | None:
        """The exact mean of the finite values, rounded once."""
        return _rounded(self.sum / self.count) if self.count else None

    def to_json(self) -> Json:
        """Plain values for JSON."""
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
    def from_json(cls, written: "WrittenFloats") -> "FloatStatistics":
        """The inverse of `to_json`."""
        mantissa, exponent = written.sum
        return cls(
            written.nan,
            written.positive_infinity,
            written.negative_infinity,
            written.min,
            written.max,
            Fraction(int(mantissa, 16), 1 << -exponent),
            Histogram("float", dict(written.bins)),
        )


def exact_integer_sum(values: NDArray[np.integer]) -> int:
    """The sum without overflow: both halves of 64 bits are added separately."""
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
