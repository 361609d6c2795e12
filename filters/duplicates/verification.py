"""Whether a candidate pair is alike: by its signatures where they are clear, else by its sets of shingles."""

import math

import numpy as np
import numpy.typing as npt

from winnow.filters.kernels import kernel

__all__ = ["ABOVE", "BELOW", "UNCLEAR", "jaccard", "judge", "matching"]

BELOW, UNCLEAR, ABOVE = -1, 0, 1
_STANDARD_ERRORS = 2.0
_ROUNDING = 1e-12  # an estimate at exactly two standard errors is unclear on either side

Counts = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int64]
Values = npt.NDArray[np.uint64]


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
    so would call pairs clear that a pair at the threshold gives every day. A pair is unclear up to two standard
    errors: about 2.3 % of the pairs that lie just on the wrong side of the threshold are then clear, and fewer with
    every step away from it.

    Raises:
        ValueError: No hashes, or a threshold outside of 0 to 1.
    """
    if hashes < 1 or not 0.0 <= threshold <= 1.0:
        raise ValueError(f"expected hashes and a threshold of 0 to 1, found {hashes} and {threshold}")
    distance = np.asarray(matches) / hashes - threshold
    error = _STANDARD_ERRORS * math.sqrt(threshold * (1.0 - threshold) / hashes)
    judged = np.sign(distance).astype(np.int8)
    judged[np.abs(distance) <= error + _ROUNDING] = UNCLEAR
    return judged


def jaccard(
    first_offsets: Offsets,
    first_values: Values,
    second_offsets: Offsets,
    second_values: Values,
    *,
    limit: int | None = None,
) -> tuple[Counts, Counts]:
    """How many values the two sets of every pair share, and how many they hold together.

    Set i of a side is `values[offsets[i] : offsets[i + 1]]`: sorted, each value once.

    Args:
        first_offsets: Where the first set of every pair starts, and the end of the last.
        first_values: The values of the first sets.
        second_offsets: The same of the second sets.
        second_values: The same of the second sets.
        limit: Sets of that many values were cut off to their smallest ones. Past the largest value of a set that was
            cut nothing is known of it, so values are compared up to there alone: of hashed values a fair sample.

    Raises:
        ValueError: The two sides differ in the number of sets, or offsets descend or leave the values.
    """
    if len(first_offsets) != len(second_offsets):
        raise ValueError(
            f"expected as many first sets as second ones, found {len(first_offsets) - 1} and {len(second_offsets) - 1}"
        )
    for offsets, values in ((first_offsets, first_values), (second_offsets, second_values)):
        if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(values) or np.any(offsets[1:] < offsets[:-1]):
            raise ValueError(f"expected ascending offsets into {len(values)} values, found others")
    if limit is not None and limit < 1:
        raise ValueError(f"expected a limit of one value or more, found {limit}")
    whole = np.iinfo(np.int64).max if limit is None else limit
    return _jaccard(  # type: ignore[no-any-return]
        np.ascontiguousarray(first_offsets, np.int64),
        np.ascontiguousarray(first_values, np.uint64),
        np.ascontiguousarray(second_offsets, np.int64),
        np.ascontiguousarray(second_values, np.uint64),
        whole,
    )


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
def _jaccard(first_offsets, first_values, second_offsets, second_values, limit):  # type: ignore[no-untyped-def]
    pairs = len(first_offsets) - 1
    intersections = np.empty(pairs, np.int64)
    unions = np.empty(pairs, np.int64)
    for pair in range(pairs):
        one, one_end = first_offsets[pair], first_offsets[pair + 1]
        other, other_end = second_offsets[pair], second_offsets[pair + 1]
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
