"""Candidates for phone numbers: groups of digits, split between numbers, without obvious non-phones.

Exclusions hold whatever word announces a number: parts of words and longer numbers, dates, decimals, ranges of years,
IPv4 addresses. The remaining candidates are rare, so `phones` can examine them closely.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups, glued_after, glued_before
from winnow.schemas.kernels import kernel, leaf

__all__ = ["LEAST", "MOST", "Chunks", "phone_chunks"]

LEAST, MOST = 7, 17  # digits of a number as it is written, calling code and all
_BESIDE = 4  # bytes on each side in which another number means a list or table

_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
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


@leaf  # type: ignore[untyped-decorator]
def _value(text: _Bytes, start: int, end: int) -> int:
    value = 0
    for at in range(start, min(end, start + 9)):
        value = 10 * value + text[at] - 48
    return value


@leaf  # type: ignore[untyped-decorator]
def _cut(text: _Bytes, at: int, end: int) -> bool:
    """Whether the text between two runs separates two numbers: `+`, a tab, or two blanks."""
    for place in range(at, end):
        if text[place] == 43 or text[place] == 9 or (text[place] == 32 and place + 1 < end and text[place + 1] == 32):
            return True
    return False


@leaf  # type: ignore[untyped-decorator]
def _is_digit(text: _Bytes, at: int, low: int, high: int) -> bool:
    return bool(low <= at < high and 48 <= text[at] <= 57)


@leaf  # type: ignore[untyped-decorator]
def _is_time(text: _Bytes, at: int, low: int, high: int) -> bool:
    """Whether the hours or minutes of a clock time are at this digit: `9:00`, `17.30`."""
    first, last = at, at + 1
    while first > low and (_is_digit(text, first - 1, low, high) or text[first - 1] == 58 or text[first - 1] == 46):
        first -= 1
        if at - first > 4:
            return False
    while last < high and (_is_digit(text, last, low, high) or text[last] == 58 or text[last] == 46):
        last += 1
        if last - at > 5:
            return False
    while last > first and text[last - 1] == 46:  # a full stop
        last -= 1
    mark = last - 3
    if not 4 <= last - first <= 5 or (text[mark] != 58 and text[mark] != 46) or text[mark + 1] > 53:
        return False
    if text[mark] == 46 and not (text[last - 1] == 48 or text[last - 1] == 53):  # minutes, not cents
        return False
    digits = _is_digit(text, first, low, high) and _is_digit(text, mark - 1, low, high)
    return bool(digits and _value(text, first, mark) < 25)


@leaf  # type: ignore[untyped-decorator]
def _small(text: _Bytes, at: int, low: int, high: int) -> bool:
    """Whether a whole number of one or two digits ends at this digit: `for ages 5 to 10`."""
    at -= _is_digit(text, at - 1, low, high)
    return bool(at <= low or not (48 <= text[at - 1] <= 58 or text[at - 1] == 46 or text[at - 1] == 44))


@leaf  # type: ignore[untyped-decorator]
def _number_beside(text: _Bytes, at: int, low: int, high: int, step: int) -> bool:
    """Whether a number, other than a clock time, is within a few separators of a list, in one direction."""
    paused = False
    for _ in range(_BESIDE):
        if not low <= at < high:
            return False
        byte = text[at]
        if 48 <= byte <= 57:
            if _is_time(text, at, low, high):
                return False
            return not (paused and _small(text, at, low, high))
        paused = step < 0 and (byte == 44 or byte == 46) and text[at + 1] == 32
        if not (byte == 32 or byte == 9 or byte == 44 or byte == 58 or byte == 59 or byte == 124 or byte == 46):
            return False
        at += step
    return False


@leaf  # type: ignore[untyped-decorator]
def _dated(text: _Bytes, starts: _Ints, ends: _Ints, first: int) -> bool:
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
    return bool(1 <= day <= 31 and 1 <= month <= 31 and min(day, month) <= 12)


@leaf  # type: ignore[untyped-decorator]
def _other_number(text: _Bytes, starts: _Ints, ends: _Ints, first: int, last: int) -> bool:
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


@kernel  # type: ignore[untyped-decorator]
def _chunks(
    text: _Bytes,
    offsets: _Ints,
    documents: _Ints,
    first_runs: _Ints,
    last_runs: _Ints,
    starts: _Ints,
    ends: _Ints,
    digit_starts: _Ints,
) -> tuple[_Ints, _Ints, _Ints, _Bools, _Bools, _Bools]:
    """Split groups between numbers and drop what cannot be a phone number, whatever announces it."""
    room, count = 64, 0
    found = np.empty((room, 3), np.int64)
    signs = np.empty((room, 3), np.bool_)
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        for group in range(documents[row], documents[row + 1]):
            if digit_starts[group + 1] - digit_starts[group] < LEAST:
                continue
            last = first_runs[group]
            while last < last_runs[group]:
                first = last
                held = ends[last] - starts[last]
                last += 1
                while last < last_runs[group] and not _cut(text, ends[last - 1], starts[last]):
                    held += ends[last] - starts[last]
                    last += 1
                if held < LEAST:
                    continue
                start, end = starts[first], ends[last - 1]
                sign = start - 1
                blank = sign >= low and text[sign] == 32
                if sign >= low and (text[sign] == 40 or blank):
                    sign -= 1
                plus = sign >= low and text[sign] == 43 and not glued_before(text, low, sign)
                plus = plus and not (sign > low and (text[sign - 1] == 43 or text[sign - 1] == 41))
                apart, plus = plus and blank, plus and not blank
                if not plus and (glued_before(text, low, start) or _other_number(text, starts, ends, first, last)):
                    continue
                # `x12`, `ext. 12`, and endings that are written to a number: `0555 441 377ге`.
                if glued_after(text, end, high) and text[end] < 0x80 and text[end] != 120 and text[end] != 101:
                    continue
                if last - first == 1 and held > MOST:
                    continue
                adjacent = first > first_runs[group] or last < last_runs[group]
                adjacent = adjacent or _number_beside(text, start - 1, low, high, -1)
                adjacent = adjacent or _number_beside(text, end, low, high, 1)
                if count == room:
                    room *= 2
                    wider, more = np.empty((room, 3), np.int64), np.empty((room, 3), np.bool_)
                    wider[:count], more[:count] = found, signs
                    found, signs = wider, more
                found[count, 0], found[count, 1], found[count, 2] = row, first, last
                signs[count, 0], signs[count, 1], signs[count, 2] = plus, apart, not adjacent
                count += 1
    return (
        found[:count, 0].copy(),
        found[:count, 1].copy(),
        found[:count, 2].copy(),
        signs[:count, 0].copy(),
        signs[:count, 1].copy(),
        signs[:count, 2].copy(),
    )


def phone_chunks(texts: Texts, groups: DigitGroups) -> Chunks:
    """The candidates for phone numbers in a column of texts."""
    return Chunks(
        *_chunks(
            texts.buffer,
            texts.offsets,
            groups.documents,
            groups.first_runs,
            groups.last_runs,
            groups.run_starts,
            groups.run_ends,
            groups.digit_starts,
        )
    )
