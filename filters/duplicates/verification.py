"""Whether a candidate pair is alike: by its signatures where they are clear, else by its sets of shingles."""

import math

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import kernel

__all__ = ["ABOVE", "BELOW", "UNCLEAR", "jaccard", "judge", "matching"]

BELOW, UNCLEAR, ABOVE = -1, 0, 1
_ERRORS_BELOW, _ERRORS_ABOVE = 2.0, 3.0  # standard errors past which a pair is clear
_ROUNDING = 1e-12  # an estimate at exactly so many standard errors is unclear on either side

Counts = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int64]
Values = npt.NDArray[np.uint64]
Sets = tuple[Offsets, Values]


def matching(first: npt.NDArray[np.uint32], second: npt.NDArray[np.uint32]) -> Counts:
    """In how many positions the two signatures of every pair agree.

    Raises:
        ValueError: The two sides differ in shape.
    """
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(f"expected two equal tables of signatures, found shapes {first.shape} and {second.shape}")
    return _matching(np.ascontiguousarray(first, np.uint32), np.ascontiguousarray(second, np.uint32))  # type: ignore[no-any-return]


def judge(matches: Counts, hashes: int, threshold: float) -> npt.NDArray[np.int8]:
    """What the signatures alone say of every pair: ABOVE (or at) the threshold, BELOW it, or UNCLEAR.

    Matches of a pair of Jaccard J follow a binomial of `hashes` trials of chance J. The question is whether a pair
    *at the threshold* could have given what was seen, so the standard error is the one there. One taken at the
    estimate would shrink to nothing at estimates of 0 and 1, would be widest at 0.5 wherever the threshold lies, and
    so would call pairs clear that a pair at the threshold gives every day.

    Two standard errors below, a pair is clearly below: of those just above the threshold that loses about 2.3 %. To be
    clearly above takes three. A wrong edge does more harm than one that is missed: a page of a large site is compared
    with dozens of its template, and where one in dozens is joined by chance the site becomes one cluster. All that a
    third error costs is that some more texts are read.

    Raises:
        ValueError: No hashes, or a threshold outside of 0 to 1.
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
    """How many values the two sets of every pair share, and how many they hold together.

    Args:
        first: Offsets and values: set i is `values[offsets[i] : offsets[i + 1]]`, sorted, each value once.
        second: The same of the other side.
        pairs: The numbers of the two sets of every pair; None to pair them off in order.
        limit: Sets of that many values were cut off to their smallest ones. Past the largest value of a set that was
            cut nothing is known of it, so values are compared up to there alone: of hashed values a fair sample.

    Raises:
        ValueError: The two sides differ in the number of sets, pairs name none of them, or offsets descend or leave
            the values.
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
        equal = np.uint32(0)  # as wide as what is compared: the loop then runs on vectors
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
