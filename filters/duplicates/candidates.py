"""Candidate pairs: rows that share a band key, in memory linear in the rows even if many share one.

A small bucket gives all its pairs. In a large bucket each row gets a bounded number of partners, chosen by the rows'
marks: a mark depends on a row's content, so the choice does not depend on where rows are stored.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.duplicates.ranks import distinct, ranks
from winnow.schemas.kernels import kernel, leaf

_MARK = np.uint64(44)  # a reference is mark << 44 | shard << 20 | row
_ROW = np.uint64((1 << 44) - 1)
_HALF = np.uint64(32)
_LOWER_HALF = np.uint64((1 << 32) - 1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LONG = 4096  # larger buckets are sorted by numpy, which no order of rows makes quadratic

References = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Distinct pairs in ascending order, and statistics of their buckets.

    Attributes:
        first: The lesser row of every pair, as a reference without its mark.
        second: The greater row.
        buckets: The number of keys shared by two rows or more.
        hot_buckets: The number of keys shared by more rows than the `hot` limit.
        hot_rows: The rows of hot buckets, counted once per bucket.
    """

    first: References
    second: References
    buckets: int
    hot_buckets: int
    hot_rows: int


def candidate_pairs(
    keys: npt.NDArray[np.uint64],
    references: References,
    *,
    all_pairs: int = 32,
    window: int = 8,
    hot: int = 10_000,
) -> Candidates:
    """The pairs of rows that share a key, or in large buckets enough of them to connect similar rows.

    In a bucket of more than `all_pairs` rows, rows of one mark form a group. A row is paired with its whole group,
    and with the groups of the next greater marks: `window` of them, or as many as hold `all_pairs` rows together,
    but one at least and of it at most `all_pairs` rows. In a group of more than `all_pairs` rows a row is paired with
    the next `window` rows of the group and with the first. A row thus has at most about `all_pairs` * 3 / 2 pairs in
    a bucket; and but for groups of more than `all_pairs` rows, the pairs depend on the rows' marks alone.

    Args:
        keys: Band keys; those of several bands may be mixed.
        references: The row of every key, as `mark(20 bits) << 44 | shard(24) << 20 | row(20)`.
        all_pairs: The largest bucket of which every pair is a candidate.
        window: The number of a row's neighbours in a larger bucket.
        hot: Buckets with more rows count as hot.

    Raises:
        ValueError: Keys and references differ in number, or a limit is less than one.
    """
    if len(keys) != len(references):
        raise ValueError(f"expected a reference for every key, found {len(references)} for {len(keys)}")
    if min(all_pairs, window, hot) < 1:
        raise ValueError(f"expected limits of one or more, found {all_pairs=}, {window=}, {hot=}")
    members, starts = _buckets(np.ascontiguousarray(keys, np.uint64), np.ascontiguousarray(references, np.uint64))
    sizes = np.diff(starts)
    rows = members & _ROW  # as ranks, both rows of a pair fit into one number; as references they do not
    ordered = distinct(rows)
    codes = _pairs(*_groups(members, starts, all_pairs, window), ranks(ordered, rows), all_pairs, window)
    codes = distinct(codes, overwrite=True)
    first, second = ordered[codes >> _HALF], ordered[codes & _LOWER_HALF]
    return Candidates(
        first=first,
        second=second,
        buckets=len(sizes),
        hot_buckets=int(np.count_nonzero(sizes > hot)),
        hot_rows=int(sizes[sizes > hot].sum()),
    )


def _buckets(keys: npt.NDArray[np.uint64], references: References) -> tuple[References, npt.NDArray[np.int64]]:
    """The rows of every shared key, in ascending order, and the start of each key's rows."""
    kept = _perhaps_shared(keys, max(len(keys) * 4, 64).bit_length())
    keys, references = keys[kept], references[kept]
    order = np.argsort(keys)
    keys, references = keys[order], references[order]
    bounds = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)])).astype(np.int64)
    for bucket in np.flatnonzero(np.diff(bounds) > _LONG):  # at most one for every 4096 rows
        references[bounds[bucket] : bounds[bucket + 1]].sort()
    return _shared(references, bounds, _LONG)  # type: ignore[no-any-return]


@kernel
def _perhaps_shared(keys, bits):  # type: ignore[no-untyped-def]
    """Whether each key may occur twice. A bit table excludes most keys that occur once, which need not be sorted."""
    once = np.zeros(((1 << bits) >> 6) + 1, np.uint64)
    twice = np.zeros(len(once), np.uint64)
    shift = np.uint64(64 - bits)
    for at in range(len(keys)):
        place = (keys[at] * _SPREAD) >> shift
        word, bit = np.int64(place >> np.uint64(6)), np.uint64(1) << (place & np.uint64(63))
        twice[word] |= once[word] & bit
        once[word] |= bit
    found = np.empty(len(keys), np.bool_)
    for at in range(len(keys)):
        place = (keys[at] * _SPREAD) >> shift
        found[at] = (twice[np.int64(place >> np.uint64(6))] >> (place & np.uint64(63))) & np.uint64(1) != 0
    return found


@kernel
def _shared(references, bounds, long):  # type: ignore[no-untyped-def]
    members = np.empty(len(references), np.uint64)
    starts = np.zeros(len(bounds), np.int64)
    count = buckets = 0
    for bucket in range(len(bounds) - 1):
        start, end = bounds[bucket], bounds[bucket + 1]
        if end - start < 2:
            continue
        if end - start <= long:
            references[start:end].sort()
        first = count
        for at in range(start, end):
            if at == start or references[at] != references[at - 1]:
                members[count] = references[at]
                count += 1
        if count - first < 2:
            count = first
            continue
        buckets += 1
        starts[buckets] = count
    return members[:count].copy(), starts[: buckets + 1].copy()


@kernel
def _groups(members, starts, all_pairs, window):  # type: ignore[no-untyped-def]
    """The starts and ends of groups, and how far after its end a group's partners reach."""
    begins = np.empty(len(members), np.int64)
    ends = np.empty(len(members), np.int64)
    reaches = np.empty(len(members), np.int64)
    count = 0
    for bucket in range(len(starts) - 1):
        start, end = starts[bucket], starts[bucket + 1]
        if end - start <= all_pairs:
            begins[count], ends[count], reaches[count] = start, end, end
            count += 1
            continue
        leading = count
        for at in range(start, end):
            if at == start or members[at] >> _MARK != members[at - 1] >> _MARK:
                begins[count] = at
                count += 1
            ends[count - 1] = at + 1
        for group in range(leading, count):
            reach = ends[group]
            for following in range(group + 1, min(group + 1 + window, count)):
                if ends[following] - ends[group] > all_pairs:
                    if following == group + 1:
                        reach = ends[group] + all_pairs
                    break
                reach = ends[following]
            reaches[group] = reach
    return begins[:count].copy(), ends[:count].copy(), reaches[:count].copy()


@kernel
def _pairs(begins, ends, reaches, places, all_pairs, window):  # type: ignore[no-untyped-def]
    """Every pair as the lesser row's rank << 32 | the greater one's."""
    total = 0
    for group in range(len(begins)):
        size = ends[group] - begins[group]
        inside = size * (size - 1) // 2 if size <= all_pairs else size * (window + 1)
        total += inside + size * (reaches[group] - ends[group])
    codes = np.empty(total, np.uint64)
    count = 0
    for group in range(len(begins)):
        begin, end = begins[group], ends[group]
        small = end - begin <= all_pairs
        for at in range(begin, end):
            near = end if small else min(at + 1 + window, end)
            for partner in range(at + 1, near):
                count = _paired(codes, count, places[at], places[partner])
            if not small and at > begin + window:
                count = _paired(codes, count, places[begin], places[at])
            for partner in range(end, reaches[group]):
                count = _paired(codes, count, places[at], places[partner])
    return codes[:count]


@leaf
def _paired(codes, count, one, other):  # type: ignore[no-untyped-def]
    if one == other:  # a row under two marks
        return count
    codes[count] = (np.uint64(min(one, other)) << _HALF) | np.uint64(max(one, other))
    return count + 1
