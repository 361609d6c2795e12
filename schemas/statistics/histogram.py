"""Fixed log bins with integer counts: quantiles that merge by addition, the same on every machine.

A bin is a sign, a power of two and one of sixteen equal steps inside it, as in HdrHistogram
(http://hdrhistogram.org). The bin of a value is read from its bits, never from a logarithm, so rounding cannot move a
value to another bin. Bins are numbered so that their order is the order of the values and bin 0 holds zero:

- integers: -15..15 have a bin each; above, a bin is 1/16 of its octave wide;
- floats: the sign, the exponent and the first four bits of the mantissa. Bin 0 also holds values nearer to zero than
`SMALLEST_FLOAT`, and the last sixteen bins below the normal numbers are coarser.

The middle of a bin is at most `RELATIVE_ERROR` from every value in it.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scale: TypeAlias = Literal["integer", "float"]
Bins: TypeAlias = NDArray[np.int64]

STEPS_BITS = 4
STEPS = 1 << STEPS_BITS
RELATIVE_ERROR = Fraction(1, 2 * STEPS)
SMALLEST_FLOAT = math.ldexp(1, -1022 - STEPS_BITS)

_MANTISSA_BITS = 52
_EXPONENT_BIAS = 1023
_EXACT_BITS = 53  # integers below 2**53 are floats without rounding
_SHIFT = 11  # reduces a 64-bit integer below 2**53 to its first five bits, which determine the bin


def integer_bins(values: NDArray[np.integer]) -> Bins:
    """The bin of each integer of up to 64 bits, signed or not."""
    if values.dtype.kind == "u":
        magnitude, negative = values.astype(np.uint64), None
    else:
        wide = values.astype(np.int64)
        negative = wide < 0
        magnitude = wide.view(np.uint64)
        magnitude = np.where(negative, np.uint64(0) - magnitude, magnitude)  # wraps around to 2**63 for the smallest
    large = magnitude >= np.uint64(1 << _EXACT_BITS)
    bits = np.where(large, magnitude >> np.uint64(_SHIFT), magnitude).astype(np.float64).view(np.int64)
    exponent = (bits >> _MANTISSA_BITS) - _EXPONENT_BIAS + np.where(large, _SHIFT, 0)
    step = (bits >> (_MANTISSA_BITS - STEPS_BITS)) & (STEPS - 1)
    bins = np.where(magnitude < STEPS, magnitude.astype(np.int64), (exponent - STEPS_BITS + 1) * STEPS + step)
    return bins if negative is None else np.where(negative, -bins, bins)


def float_bins(values: NDArray[np.floating]) -> Bins:
    """The bin of each float; the values must be finite."""
    bits = values.astype(np.float64).view(np.int64)
    bins = (bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)) >> (_MANTISSA_BITS - STEPS_BITS)
    return np.where(bits < 0, -bins, bins)


def bin_range(number: int, scale: Scale) -> tuple[float, float]:
    """The smallest and largest value of the bin: inclusive for integers; for floats the outer end is exclusive."""
    if number < 0:
        low, high = bin_range(-number, scale)
        return -high, -low
    if scale == "float":
        low, high = (_float_of(bits << (_MANTISSA_BITS - STEPS_BITS)) for bits in (number, number + 1))
        return (-high, high) if number == 0 else (low, high)
    if number < STEPS:
        return number, number
    octave, step = divmod(number - STEPS, STEPS)
    return (STEPS + step) << octave, ((STEPS + step + 1) << octave) - 1


def _float_of(bits: int) -> float:
    value = float(np.int64(bits).view(np.float64))
    return value if math.isfinite(value) else math.nextafter(math.inf, 0)


class Histogram:
    """The number of values per bin."""

    __slots__ = ("counts", "scale")

    def __init__(self, scale: Scale, counts: dict[int, int] | None = None):
        self.scale: Scale = scale
        self.counts: dict[int, int] = {} if counts is None else counts

    def add(self, bins: Bins) -> None:
        """Count one value for each bin number."""
        if len(bins) == 0:
            return
        low, high = int(bins.min()), int(bins.max())
        if high - low < 4 * len(bins) + 1024:
            dense = np.bincount(bins - low)
            numbers = np.flatnonzero(dense)
            found, counts = numbers + low, dense[numbers]
        else:
            found, counts = np.unique(bins, return_counts=True)
        for number, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.counts[number] = self.counts.get(number, 0) + count

    def absorb(self, other: "Histogram") -> None:
        """Add the other's counts to these."""
        for number, count in other.counts.items():
            self.counts[number] = self.counts.get(number, 0) + count

    @property
    def count(self) -> int:
        """The number of counted values."""
        return sum(self.counts.values())

    def bins(self) -> Iterator[tuple[int, int]]:
        """Bin numbers with their counts, in the order of the values."""
        yield from sorted(self.counts.items())

    def quantile(self, fraction: float) -> float | None:
        """The middle of the bin that holds the smallest value with at least this fraction of all values at or below it.

        The result is within `RELATIVE_ERROR` of that value (numpy's `inverted_cdf`).
        """
        total = self.count
        if total == 0:
            return None
        # The decimal fraction as written: 0.05 of 20 is 1, although the float 0.05 is slightly more than a twentieth.
        rank = max(1, math.ceil(Fraction(str(fraction)) * total))
        seen = accumulate(count for _, count in self.bins())
        number = next(number for (number, _), upto in zip(self.bins(), seen, strict=True) if upto >= rank)
        low, high = bin_range(number, self.scale)
        return low + (high - low) / 2
