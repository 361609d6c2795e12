"""Verify candidate pairs: by signatures if they are clear, else by sets of shingles."""

import math

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import kernel

BELOW, UNCLEAR, ABOVE = -1, 0, 1
_ERRORS_BELOW, _ERRORS_ABOVE = 2.0, 3.0  # standard errors beyond which a pair is clear
_ROUNDING = 1e-12  # an estimate at exactly this many standard errors is unclear on either side

Counts = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int64]
Values = npt.NDArray[np.uint64]
Sets = tuple[Offsets, Values]


def matching(first: npt.NDArray[np.uint32], second: npt.NDArray[np.uint32]) -> Counts:
    """The number of positions in which the two signatures of every pair agree.

    Raises:
        ValueError: The two sides differ in shape.
    """
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(f"expected two equal tables of signatures, found shapes {first.shape} and {second.shape}")
    return _matching(np.ascontiguousarray(first, np.uint32), np.ascontiguousarray(second, np.uint32))  # type: ignore[no-any-return]


def judge(matches: Counts, hashes: int, threshold: float) -> npt.NDArray[np.int8]:
    """Judge every pair by its signatures: ABOVE (or at) the threshold, BELOW it, or UNCLEAR.

    The matches of a pair with Jaccard J are binomial with `hashes` trials of probability J. The question is whether a
    pair *at the threshold* could have produced them, so the standard error is the one at the threshold. One at the
    estimate would vanish at estimates of 0 and 1, be widest at 0.5 wherever the threshold is, and so would call pairs
    clear that are common at the threshold.

    A pair two standard errors below is clearly below: that loses about 2.3 % of pairs just above the threshold. Clearly
    above takes three. A wrong edge does more harm than a missed one: a page of a large site is compared with dozens of
    its template, and if one in dozens is joined by chance, the site becomes one cluster. The third error only costs
    reading some more texts.

    Raises:
        ValueError: There are no hashes, or the threshold is outside 0 to 1.
    """
    if hashes < 1 or not 0.0 <= threshold <= 1.0:
        raise ValueError(f"expected hashes and a threshold of 0 to 1, found {hashes} and {threshold}")
    distance = np.asarray(matches) / hashes - threshold
    error = math.sqrt(threshold * (1.0 - threshold) / hashes)
    judged = np.full(len(distance), UNCLEAR, np.int8)
    judged[distance < -_ERRORS_BELOW * error - _ROUNDING] = BELOW
    judged[distance > _ERRORS_ABOVE * error + _ROUNDING] = ABOVE
    return judged


def jaccard(
    first: Sets, second: Sets, pairs: tuple[Counts, Counts] | None = None, *, limit: int | None = None
) -> tuple[Counts, Counts]:
    """The sizes of the intersection and the union of every pair's two sets.

    Args:
        first: Offsets and values: set i is `values[offsets[i] : offsets[i + 1]]`, sorted, each value once.
        second: The same for the other side.
        pairs: The numbers of the two sets of every pair; None to pair them in order.
        limit: Sets of this many values were cut to their smallest ones. Beyond the largest value of a cut set nothing
        is
            known, so values are compared only up to there, which is a fair sample of hashed values.

    Raises:
        ValueError: The two sides differ in the number of sets, pairs are out of range, or offsets descend or exceed the
            values.
    """
    for offsets, values in (first, second):
        if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(values) or np.any(offsets[1:] < offsets[:-1]):
            raise ValueError(f"expected ascending offsets into {len(values)} values, found others")
    counts = (len(first[0]) - 1, len(second[0]) - 1)
    if pairs is None and counts[0] != counts[1]:
        raise ValueError(f"expected as many first sets as second ones, found {counts[0]} and {counts[1]}")
    ones, others = (np.arange(counts[0]), np.arange(counts[1])) if pairs is None else pairs
    for numbers, count in ((ones, counts[0]), (others, counts[1])):
        if len(ones) != len(others) or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < count):
            raise ValueError(f"expected pairs of numbers below {counts[0]} and {counts[1]}, found others")
    if limit is not None and limit < 1:
        raise ValueError(f"expected a limit of one value or more, found {limit}")
    whole = np.iinfo(np.int64).max if limit is None else limit
    sides = [
        array
        for offsets, values in (first, second)
        for array in (np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(values, np.uint64))
    ]
    return _jaccard(*sides, np.ascontiguousarray(ones, np.int64), np.ascontiguousarray(others, np.int64), whole)  # type: ignore[no-any-return]


@kernel
def _matching(first, second):  # type: ignore[no-untyped-def]
    found = np.empty(len(first), np.int64)
    for pair in range(len(first)):
        equal = np.uint32(0)  # as wide as the compared values, so that the loop uses vectors
        for at in range(first.shape[1]):
            equal += np.uint32(first[pair, at] == second[pair, at])
        found[pair] = equal
    return found


@kernel
def _jaccard(first_offsets, first_values, second_offsets, second_values, ones, others, limit):  # type: ignore[no-untyped-def]
    pairs = len(ones)
    intersections = np.empty(pairs, np.int64)
    unions = np.empty(pairs, np.int64)
    for pair in range(pairs):
        one, one_end = first_offsets[ones[pair]], first_offsets[ones[pair] + 1]
        other, other_end = second_offsets[others[pair]], second_offsets[others[pair] + 1]
        known = np.uint64(0xFFFFFFFFFFFFFFFF)
        if one_end - one >= limit:
            known = min(known, first_values[one_end - 1])
        if other_end - other >= limit:
            known = min(known, second_values[other_end - 1])
        while one < one_end and first_values[one_end - 1] > known:
            one_end -= 1
        while other < other_end and second_values[other_end - 1] > known:
            other_end -= 1
        sizes = one_end - one + other_end - other
        shared = np.int64(0)
        while one < one_end and other < other_end:
            left, right = first_values[one], second_values[other]
            shared += np.int64(left == right)
            one += np.int64(left <= right)
            other += np.int64(right <= left)
        intersections[pair] = shared
        unions[pair] = sizes - shared
    return intersections, unions
