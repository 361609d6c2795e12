"""Back-off language models: an n-gram's probability, or a shorter one's times the weight of the missing context.

An n-gram's key combines its words' hashes from the last to the first, so that a longer context extends a key.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numba import uint64
from numpy.typing import NDArray

from winnow.filters.language.kernels.hashes import find, hash_bytes, hash_words, mixed
from winnow.schemas.kernels import kernel

MAX_ORDER = 10


class Reading(IntEnum):
    """How reading a block of lines ended."""

    USED_UP = 0
    FULL = 1  # there is no more room for n-grams
    HEADING = 2  # a line that starts with a backslash
    NO_NUMBER = 3
    POSITIVE = 4
    RANGE = 5
    WORDS = 6
    STRANGER = 7


@dataclass(frozen=True, slots=True)
class Grams:
    """N-grams: their keys and the model's values, ordered by length."""

    keys: NDArray[np.uint64]
    log10_prob: NDArray[np.float32]
    backoff: NDArray[np.float32]

    @classmethod
    def room(cls, size: int) -> "Grams":
        """Room for this many n-grams; memory is used only as it fills."""
        return cls(np.zeros(size, np.uint64), np.zeros(size, np.float32), np.zeros(size, np.float32))

    def sorted(self) -> "Grams":
        """The n-grams sorted by key."""
        order = np.argsort(self.keys, kind="stable")
        return Grams(self.keys[order], self.log10_prob[order], self.backoff[order])


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals by text."""

    log10_prob: NDArray[np.float64]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]
    lines: NDArray[np.int64]  # lines with a word; the end of each is predicted too


def hash_word(word: str) -> int:
    """The key of a 1-gram."""
    return int(hash_words(pa.array([word]))[0])


def read_lines(
    block: NDArray[np.uint8], order: int, words: NDArray[np.uint64], room: Grams, filled: int, *, with_backoff: bool
) -> tuple[int, int, int, Reading]:
    """Read n-grams from the complete lines of a block.

    Args:
        block: Bytes of a section of the file.
        order: The number of words per line.
        words: The sorted keys of the 1-grams; empty while these are read.
        room: The destination of the n-grams.
        filled: The number of n-grams already there.
        with_backoff: Whether a line may end with a weight.

    Returns:
        The bytes and lines read, the number of n-grams now, and how reading ended.
    """
    used, lines, filled, reading = _read_lines(
        block, order, words, room.keys, room.log10_prob, room.backoff, filled, with_backoff
    )
    return used, lines, filled, Reading(reading)


def score_texts(
    content: NDArray[np.uint8], offsets: NDArray[np.int64], grams: Grams, starts: NDArray[np.int64], unknown: float
) -> Sums:
    """The probability of each text, line by line, each between `<s>` and `</s>`.

    Args:
        content: The texts' bytes; words are split at ASCII white space.
        offsets: The start and end of each text.
        grams: All n-grams, sorted within each order.
        starts: The start of each order in them, and the end of the last.
        unknown: The log10 probability of an unknown word if the model has no `<unk>`.
    """
    marks = np.array([hash_word("<unk>"), hash_word("<s>"), hash_word("</s>")], np.uint64)
    log10_prob, words, strange, lines = _score_texts(
        content, offsets, grams.keys, grams.log10_prob, grams.backoff, starts, marks, unknown
    )
    return Sums(log10_prob, words, strange, lines)


_NEWLINE, _SPACE, _TAB, _RETURN, _BACKSLASH, _POINT, _MINUS, _PLUS = (ord(mark) for mark in "\n \t\r\\.-+")
_ZERO, _NINE, _SMALL_E, _LARGE_E = (ord(mark) for mark in "09eE")
_POWERS = np.array([float(f"1e{power}") for power in range(23)])  # those that a double represents exactly
_BOUND = 1000.0
_NO_NUMBER = 1e30
_STEP = uint64(0x9E3779B97F4A7C15)

_USED_UP, _FULL, _HEADING, _WITHOUT_NUMBER, _POSITIVE, _RANGE, _WORDS, _STRANGER = (int(reading) for reading in Reading)


@kernel
def _continued(key, word):  # type: ignore[no-untyped-def]
    return mixed((key * _STEP) ^ word)


@kernel
def _number(block, start, end):  # type: ignore[no-untyped-def]
    """The decimal number that is block[start:end]; correctly rounded up to 15 digits, which no model exceeds."""
    at = start
    negative = at < end and block[at] == _MINUS
    if at < end and (block[at] == _MINUS or block[at] == _PLUS):
        at += 1
    mantissa, digits, seen, scale, after_point = 0, 0, 0, 0, False
    while at < end:
        byte = block[at]
        if byte == _POINT and not after_point:
            after_point = True
        elif _ZERO <= byte <= _NINE:
            seen += 1
            if digits < 17:
                mantissa = mantissa * 10 + (byte - _ZERO)
                digits += mantissa > 0
                scale -= after_point
            else:
                scale += not after_point
        else:
            break
        at += 1
    if seen == 0:
        return _NO_NUMBER
    if at < end and (block[at] == _SMALL_E or block[at] == _LARGE_E):
        at += 1
        down = at < end and block[at] == _MINUS
        if at < end and (block[at] == _MINUS or block[at] == _PLUS):
            at += 1
        power, first = 0, at
        while at < end and _ZERO <= block[at] <= _NINE and at - first < 4:
            power = power * 10 + (block[at] - _ZERO)
            at += 1
        if at == first:
            return _NO_NUMBER
        scale += -power if down else power
    if at != end:
        return _NO_NUMBER
    value = float(mantissa)
    while scale < 0 and value != 0.0:
        value /= _POWERS[min(-scale, 22)]
        scale += min(-scale, 22)
    while scale > 0 and 0.0 < value < 1e9:
        value *= _POWERS[min(scale, 22)]
        scale -= min(scale, 22)
    return -value if negative else value


@kernel
def _read_lines(block, order, words, keys, log10_prob, backoff, filled, with_backoff):  # type: ignore[no-untyped-def]
    starts = np.empty(order + 3, np.int64)
    ends = np.empty(order + 3, np.int64)
    used, lines = 0, 0
    while True:
        if filled == len(keys):
            return used, lines, filled, _FULL
        end = used
        while end < len(block) and block[end] != _NEWLINE:
            end += 1
        if end == len(block):
            return used, lines, filled, _USED_UP
        fields, at = 0, used
        while at < end and fields < order + 3:
            while at < end and (block[at] == _SPACE or block[at] == _TAB or block[at] == _RETURN):
                at += 1
            if at == end:
                break
            starts[fields] = at
            while at < end and not (block[at] == _SPACE or block[at] == _TAB or block[at] == _RETURN):
                at += 1
            ends[fields] = at
            fields += 1
        if fields > 0:
            if block[starts[0]] == _BACKSLASH:
                return used, lines, filled, _HEADING
            prob = _number(block, starts[0], ends[0])
            if prob == _NO_NUMBER:
                return used, lines, filled, _WITHOUT_NUMBER
            if fields != order + 1 and not (with_backoff and fields == order + 2):
                return used, lines, filled, _WORDS
            weight = 0.0
            if fields == order + 2:
                weight = _number(block, starts[order + 1], ends[order + 1])
                if weight == _NO_NUMBER:
                    return used, lines, filled, _WORDS
            if prob > 0.0:
                return used, lines, filled, _POSITIVE
            if prob < -_BOUND or abs(weight) > _BOUND:
                return used, lines, filled, _RANGE
            key = uint64(0)
            for back in range(order):
                word = hash_bytes(block, starts[order - back], ends[order - back])
                if order > 1 and find(words, word) < 0:
                    return used, lines, filled, _STRANGER
                key = word if back == 0 else _continued(key, word)
            keys[filled], log10_prob[filled], backoff[filled] = key, prob, weight
            filled += 1
        used = end + 1
        lines += 1


@kernel
def _log10(word, context, known, keys, log10_prob, backoff, starts, unknown):  # type: ignore[no-untyped-def]
    """The log10 probability of a word after the `known` words of a context, the last one first."""
    longest = min(known + 1, len(starts) - 1)
    whole = np.empty(MAX_ORDER, np.uint64)
    before = np.empty(MAX_ORDER, np.uint64)
    whole[0] = word
    for back in range(longest - 1):
        whole[back + 1] = _continued(whole[back], context[back])
        before[back] = context[0] if back == 0 else _continued(before[back - 1], context[back])
    total = 0.0
    for length in range(longest, 0, -1):
        first = starts[length - 1]
        at = find(keys[first : starts[length]], whole[length - 1])
        if at >= 0:
            return total + log10_prob[first + at]
        if length > 1:
            first = starts[length - 2]
            at = find(keys[first : starts[length - 1]], before[length - 2])
            if at >= 0:
                total += backoff[first + at]
    return total + unknown


@kernel
def _score_texts(content, offsets, keys, log10_prob, backoff, starts, marks, unknown):  # type: ignore[no-untyped-def]
    texts = len(offsets) - 1
    sums = np.zeros(texts, np.float64)
    words = np.zeros(texts, np.int64)
    strange = np.zeros(texts, np.int64)
    lines = np.zeros(texts, np.int64)
    context = np.empty(MAX_ORDER, np.uint64)
    vocabulary = keys[: starts[1]]
    for text in range(texts):
        at, end, known = offsets[text], offsets[text + 1], 0
        while at <= end:
            blank = at == end or content[at] == _SPACE or _TAB <= content[at] <= _RETURN
            over = at == end or content[at] == _NEWLINE
            if blank and not over:
                at += 1
                continue
            if over:
                if known > 0:
                    sums[text] += _log10(marks[2], context, known, keys, log10_prob, backoff, starts, unknown)
                    lines[text] += 1
                known = 0
                at += 1
                continue
            first = at
            while at < end and not (content[at] == _SPACE or _TAB <= content[at] <= _RETURN):
                at += 1
            word = hash_bytes(content, first, at)
            if word == marks[0] or word == marks[1] or word == marks[2] or find(vocabulary, word) < 0:
                word = marks[0]  # text that looks like a mark is not a mark
                strange[text] += 1
            if known == 0:
                context[0] = marks[1]
                known = 1
            sums[text] += _log10(word, context, known, keys, log10_prob, backoff, starts, unknown)
            words[text] += 1
            known = min(known + 1, MAX_ORDER - 1)
            for back in range(known - 1, 0, -1):
                context[back] = context[back - 1]
            context[0] = word
    return sums, words, strange, lines
