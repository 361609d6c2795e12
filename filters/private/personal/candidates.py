"""Find runs of digits in texts, and groups of runs that separators join into a possible number.

Cards, phone numbers, IPv4 addresses and national ids are all searched for among these, so that texts are read once and
later steps cost time only where there are digits. The scan is linear for any text.

A *run* is a maximal sequence of ASCII digits. A *group* is a maximal chain of runs with at most three separators
between neighbours (a *joint*), as in `+49 (0)30 / 123-45.67`. Separators are blanks, hyphens, dashes, dots, slashes,
round brackets and `+`; never a line break, comma or letter. Only groups of at least `MIN_DIGITS` are kept; a group has
no upper bound (a table of numbers can be one), so detectors read windows of its runs.

Folding has already normalised digits of other scripts, full-width digits and zero-width characters.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.schemas.kernels import kernel, leaf

MIN_DIGITS = 6
_MAX_JOINT = 3  # separators between two runs of a group
_BLOCK = 16  # bytes checked for digits at a time

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DigitGroups:
    """The digits of a column of texts; all ranges are in bytes of the whole buffer, half-open, ascending.

    Text i has the runs `document_runs[i]` to `document_runs[i + 1]` and the groups `documents[i]` to
    `documents[i + 1]`. Group j is `starts[j]` to `ends[j]`, from its first digit to after its last, and consists
    of the runs `first_runs[j]` to `last_runs[j]` (half-open). Its digits, without separators, are the values
    0 to 9 in `digits[digit_starts[j]:digit_starts[j + 1]]`. `plus[j]` says that `+` precedes it, with at most one
    blank or opening bracket between.
    """

    run_starts: Ints
    run_ends: Ints
    document_runs: Ints
    documents: Ints
    starts: Ints
    ends: Ints
    first_runs: Ints
    last_runs: Ints
    digits: Bytes
    digit_starts: Ints
    plus: npt.NDArray[np.bool_]

    def text_of(self, group: int) -> int:
        """The number of the text that contains a group."""
        return int(np.searchsorted(self.documents, group, side="right")) - 1


@leaf  # type: ignore[untyped-decorator]
def separator(text: Bytes, at: int, end: int) -> int:
    """The length in bytes of the separator here; 0 if there is none."""
    byte = text[at]
    if byte == 32 or byte == 45 or byte == 46 or byte == 47 or byte == 40 or byte == 41 or byte == 43 or byte == 9:
        return 1
    if byte == 0xC2:
        return 2 if at + 1 < end and text[at + 1] == 0xA0 else 0  # no-break space
    if byte == 0xE2 and at + 2 < end:
        second, third = text[at + 1], text[at + 2]
        if second == 0x80 and (third <= 0x8A or 0x90 <= third <= 0x95 or third == 0xAF):
            return 3  # U+2000 to U+200A, hyphens and dashes, the narrow no-break space
        if (second == 0x81 and third == 0x9F) or (second == 0x88 and third == 0x92):
            return 3  # the mathematical space, the minus sign
    if byte == 0xE3 and at + 2 < end and text[at + 1] == 0x80 and text[at + 2] == 0x80:
        return 3  # the ideographic space
    return 0


@leaf  # type: ignore[untyped-decorator]
def _is_word(lead: int, second: int) -> bool:
    """Whether a code point with these bytes forms words together with adjacent digits.

    In scripts with spaces, adjacent letters make digits part of a name or code (`x1234`). In other scripts, such as
    Han and Thai, and with Korean particles, letters adjoin numbers freely.
    """
    if lead < 0x80:
        return 48 <= lead <= 57 or 65 <= lead <= 90 or 97 <= lead <= 122 or lead == 95
    if lead == 0xC2:
        return second == 0xAA or second == 0xB5 or second == 0xBA
    if lead == 0xC3:
        return second != 0x97 and second != 0xB7  # × and ÷
    if (lead == 0xD5 and 0x9A <= second <= 0x9F) or (lead == 0xD6 and (second == 0x89 or second == 0x8A)):
        return False  # Armenian commas, stops and hyphens
    if (lead == 0xCD and second == 0xBE) or (lead == 0xCE and second == 0x87):
        return False  # Greek question marks and semicolons
    return 0xC4 <= lead <= 0xD6  # Latin, IPA, marks, Greek, Cyrillic, Armenian


@leaf  # type: ignore[untyped-decorator]
def glued_before(text: Bytes, low: int, at: int) -> bool:
    """Whether a word's letter, digit or underscore directly precedes this position of a text that begins at `low`."""
    if at <= low:
        return False
    byte = text[at - 1]
    if byte < 0x80:
        return bool(_is_word(byte, 0))
    if at - 2 < low:
        return False
    return bool(text[at - 2] >= 0xC0 and _is_word(text[at - 2], byte))


@leaf  # type: ignore[untyped-decorator]
def glued_after(text: Bytes, at: int, high: int) -> bool:
    """Whether a word's letter, digit or underscore is at this position of a text that ends at `high`."""
    if at >= high:
        return False
    return bool(_is_word(text[at], text[at + 1] if at + 1 < high else 0))


@leaf  # type: ignore[untyped-decorator]
def _most_runs(text: Bytes, low: int, high: int) -> int:
    """An upper bound of the number of runs, in vector instructions, so that arrays need not grow."""
    count = int(high > low and text[low] - np.uint8(48) < 10)
    for at in range(np.uint64(low), np.uint64(max(low, high - 1))):
        digit = np.uint8(text[at] - np.uint8(48)) < np.uint8(10)
        count += int(~digit & (np.uint8(text[at + np.uint64(1)] - np.uint8(48)) < np.uint8(10)))
    return count


@kernel  # type: ignore[untyped-decorator]
def _runs(text: Bytes, offsets: Ints) -> tuple[Ints, Ints, Ints]:
    """Every run of digits, and the cumulative number per text."""
    documents = np.zeros(len(offsets), np.int64)
    most = len(offsets) + _most_runs(text, offsets[0], offsets[-1])  # a run may end where a text does
    starts, ends, count = np.empty(most, np.int64), np.empty(most, np.int64), 0
    for row in range(len(offsets) - 1):
        at, high = offsets[row], offsets[row + 1]
        while at < high:
            stop = min(at + _BLOCK, high)
            if stop - at == _BLOCK:
                # Unsigned positions need no sign check: the compiler turns this into a few vector instructions.
                from_here = np.uint64(at)
                digit = np.uint8(0)
                for place in range(_BLOCK):
                    byte = text[from_here + np.uint64(place)]
                    digit |= np.uint8(np.uint8(byte - np.uint8(48)) < np.uint8(10))
                if digit == 0:
                    at = stop
                    continue
            while at < stop:
                if not 48 <= text[at] <= 57:
                    at += 1
                    continue
                starts[count] = at
                while at < high and 48 <= text[at] <= 57:
                    at += 1
                ends[count] = at
                count += 1
        documents[row + 1] = count
    return documents, starts[:count], ends[:count]


@leaf  # type: ignore[untyped-decorator]
def _joined(text: Bytes, at: int, end: int) -> bool:
    """Whether there are only separators, and few, between these positions."""
    if end - at > 3 * _MAX_JOINT:
        return False
    for _ in range(_MAX_JOINT):
        step = separator(text, at, end)
        if step == 0:
            return False
        at += step
        if at >= end:
            return at == end
    return False


@kernel  # type: ignore[untyped-decorator]
def _groups(
    text: Bytes, offsets: Ints, runs: Ints, starts: Ints, ends: Ints, least: int
) -> tuple[Ints, Ints, Ints, Bytes, Ints, npt.NDArray[np.bool_]]:
    """Groups of runs with enough digits: the cumulative number per text, their runs, digits and signs."""
    documents = np.zeros(len(offsets), np.int64)
    total, size = 0, 0
    for row in range(len(runs) - 1):
        total += runs[row + 1] - runs[row]
    firsts, lasts = np.empty(total, np.int64), np.empty(total, np.int64)
    count = 0
    for row in range(len(runs) - 1):
        run = runs[row]
        while run < runs[row + 1]:
            first, held = run, ends[run] - starts[run]
            while run + 1 < runs[row + 1] and _joined(text, ends[run], starts[run + 1]):
                run += 1
                held += ends[run] - starts[run]
            run += 1
            if held >= least:
                firsts[count], lasts[count] = first, run
                count += 1
                size += held
        documents[row + 1] = count
    digits, bounds, plus = np.empty(size, np.uint8), np.zeros(count + 1, np.int64), np.zeros(count, np.bool_)
    put, row = 0, 0
    for group in range(count):
        while documents[row + 1] <= group:
            row += 1
        low, before = offsets[row], starts[firsts[group]]
        before -= before > low and (text[before - 1] == 32 or text[before - 1] == 40)
        plus[group] = before > low and text[before - 1] == 43
        for run in range(firsts[group], lasts[group]):
            for at in range(starts[run], ends[run]):
                digits[put] = text[at] - 48
                put += 1
        bounds[group + 1] = put
    return documents, firsts[:count], lasts[:count], digits, bounds, plus


def digit_groups(texts: Texts, min_digits: int = MIN_DIGITS) -> DigitGroups:
    """The runs of digits of every text, and their groups."""
    document_runs, run_starts, run_ends = _runs(texts.buffer, texts.offsets)
    documents, first_runs, last_runs, digits, digit_starts, plus = _groups(
        texts.buffer, texts.offsets, document_runs, run_starts, run_ends, min_digits
    )
    return DigitGroups(
        run_starts=run_starts,
        run_ends=run_ends,
        document_runs=document_runs,
        documents=documents,
        starts=run_starts[first_runs],
        ends=run_ends[last_runs - 1],
        first_runs=first_runs,
        last_runs=last_runs,
        digits=digits,
        digit_starts=digit_starts,
        plus=plus,
    )
