"""Candidates for phone numbers: groups of digits, split between numbers, without obvious non-phones.

Exclusions hold whatever word announces a number: parts of words and longer numbers, dates, decimals, ranges of years,
IPv4 addresses. The remaining candidates are rare, so `phones` can examine them closely.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.matches import is_glued, is_led

LEAST, MOST = 7, 17  # digits of a number as it is written, calling code and all
_BESIDE = 4  # bytes on each side in which another number means a list or table

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chunks:
    """Parts of groups of digits that may be phone numbers."""

    documents: _Ints
    firsts: _Ints  # runs
    lasts: _Ints
    plus: _Bools  # directly after `+`
    apart: _Bools  # after `+` and a blank
    alone: _Bools  # no other number nearby


def _value(text: bytes, start: int, end: int) -> int:
    return int(text[start : min(end, start + 9)])


def _cut(text: bytes, at: int, end: int) -> bool:
    """Whether the text between two runs separates two numbers: `+`, a tab, or two blanks."""
    between = text[at:end]
    return b"+" in between or b"\t" in between or b"  " in between


def _is_digit(text: bytes, at: int) -> bool:
    return 0 <= at < len(text) and 48 <= text[at] <= 57


def _is_time(text: bytes, at: int) -> bool:
    """Whether the hours or minutes of a clock time are at this digit: `9:00`, `17.30`."""
    first, last = at, at + 1
    while first > 0 and (_is_digit(text, first - 1) or text[first - 1] in b":."):
        first -= 1
        if at - first > 4:
            return False
    while last < len(text) and (_is_digit(text, last) or text[last] in b":."):
        last += 1
        if last - at > 5:
            return False
    while last > first and text[last - 1] == 46:  # a full stop
        last -= 1
    mark = last - 3
    if not 4 <= last - first <= 5 or text[mark] not in b":." or text[mark + 1] > 53:
        return False
    if text[mark] == 46 and text[last - 1] not in b"05":  # minutes, not cents
        return False
    return _is_digit(text, first) and _is_digit(text, mark - 1) and _value(text, first, mark) < 25


def _small(text: bytes, at: int) -> bool:
    """Whether a whole number of one or two digits ends at this digit: `for ages 5 to 10`."""
    at -= _is_digit(text, at - 1)
    return at <= 0 or text[at - 1] not in b"0123456789:.,"


def _number_beside(text: bytes, at: int, step: int) -> bool:
    """Whether a number, other than a clock time, is within a few separators of a list, in one direction."""
    paused = False
    for _ in range(_BESIDE):
        if not 0 <= at < len(text):
            return False
        byte = text[at]
        if 48 <= byte <= 57:
            if _is_time(text, at):
                return False
            return not (paused and _small(text, at))
        paused = step < 0 and byte in b",." and text[at + 1] == 32
        if byte not in b" \t,:;|.":
            return False
        at += step
    return False


def _dated(text: bytes, starts: list[int], ends: list[int], first: int) -> bool:
    """Whether three runs are a date: `2024-02-29`, `29.02.2024`, `2/29/2024`."""
    if starts[first + 1] - ends[first] != 1 or starts[first + 2] - ends[first + 1] != 1:
        return False
    if text[ends[first]] != text[ends[first + 1]] or text[ends[first]] == 32:
        return False
    one = ends[first] - starts[first]
    two = ends[first + 1] - starts[first + 1]
    three = ends[first + 2] - starts[first + 2]
    if two > 2 or not ((one == 4 and three <= 2) or (one <= 2 and three == 4)):
        return False
    outer = first + 2 if one == 4 else first  # the day, or the month
    day, month = _value(text, starts[outer], ends[outer]), _value(text, starts[first + 1], ends[first + 1])
    return 1 <= day <= 31 and 1 <= month <= 31 and min(day, month) <= 12


def _other_number(text: bytes, starts: list[int], ends: list[int], first: int, last: int) -> bool:
    """Whether runs without `+` are clearly something else: a date, a decimal, two years, or an IPv4 address."""
    runs = last - first
    if runs >= 3 and _dated(text, starts, ends, first):
        return True
    if runs < 2:
        return False
    size = ends[first] - starts[first]
    dotted = starts[first + 1] - ends[first] == 1 and text[ends[first]] == 46
    if dotted and ((size == 1 and text[starts[first]] == 48) or (runs == 2 and text[starts[first]] != 48)):
        return True
    if size == 4 and ends[first + 1] - starts[first + 1] == 4:
        one, two = _value(text, starts[first], ends[first]), _value(text, starts[first + 1], ends[first + 1])
        if 1000 <= one <= 2199 and one <= two <= 2199:
            return True
    if runs == 4 and dotted:
        for run in range(first, last):
            if ends[run] - starts[run] > 3 or (run + 1 < last and text[ends[run]] != 46):
                return False
            if _value(text, starts[run], ends[run]) > 255:
                return False
        return True
    return False


def _chunks(text: bytes, starts: list[int], ends: list[int]) -> Iterator[tuple[int, int, bool, bool, bool]]:
    """The parts of a group of runs that may be phone numbers: their runs, and whether `plus`, `apart` and `alone`."""
    last = 0
    while last < len(starts):
        first, held = last, ends[last] - starts[last]
        last += 1
        while last < len(starts) and not _cut(text, ends[last - 1], starts[last]):
            held += ends[last] - starts[last]
            last += 1
        if held < LEAST:
            continue
        start, end = starts[first], ends[last - 1]
        sign = start - 1
        blank = text[max(sign, 0) : start] == b" "
        if sign >= 0 and text[sign] in b"( ":
            sign -= 1
        plus = sign >= 0 and text[sign] == 43 and not is_led(text, sign)
        plus = plus and text[max(sign - 1, 0) : sign] not in (b"+", b")")
        apart, plus = plus and blank, plus and not blank
        if not plus and (is_led(text, start) or _other_number(text, starts, ends, first, last)):
            continue
        # `x12`, `ext. 12`, and endings that are written to a number: `0555 441 377ге`.
        if is_glued(text, end) and text[end] < 0x80 and text[end] not in b"xe":
            continue
        if last - first == 1 and held > MOST:
            continue
        adjacent = first > 0 or last < len(starts)
        adjacent = adjacent or _number_beside(text, start - 1, -1) or _number_beside(text, end, 1)
        yield first, last, plus, apart, not adjacent


def phone_chunks(texts: Texts, groups: DigitGroups) -> Chunks:
    """The candidates for phone numbers in a column of texts."""
    long = np.flatnonzero(np.diff(groups.digit_starts) >= LEAST)
    rows = np.searchsorted(groups.documents, long, side="right") - 1
    found, read, text, low = [], -1, b"", 0
    for group, row in zip(long.tolist(), rows.tolist(), strict=True):
        if row != read:
            low, high = texts.offsets[row : row + 2].tolist()
            text, read = texts.buffer[low:high].tobytes(), row
        begin, stop = int(groups.first_runs[group]), int(groups.last_runs[group])
        starts, ends = ((sides[begin:stop] - low).tolist() for sides in (groups.run_starts, groups.run_ends))
        found += [(row, begin + first, begin + last, *signs) for first, last, *signs in _chunks(text, starts, ends)]
    columns = np.array(found, np.int64).reshape(-1, 6).T
    return Chunks(*columns[:3], *(column.astype(np.bool_) for column in columns[3:]))
