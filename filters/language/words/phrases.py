"""Combine tokens into special cases: the last step of spaCy's tokenizer.

If the other rules would split a special case into a run of tokens, and the text there is that case, its pieces replace
the run. The longest run wins, then the earliest; a losing run still blocks those that overlap it.
"""

import numpy as np

from winnow.filters.language.kernels.lookup import filter_of, find, may_be
from winnow.filters.language.words.rules import EDGE_AT, FINAL, PIECE_AT, ROOTS, SPECIALS, WORDS
from winnow.schemas.kernels import kernel, leaf


@kernel
def put_together(buffer, ints, octets, starts, ends, first, until):  # type: ignore[no-untyped-def]
    """Replace such runs among a document's tokens `first` to `until`, the last ones; returns the number of tokens.

    The arrays have room for as many tokens again: no special case has more pieces than bytes.
    """
    found = _count(buffer, ints, octets, starts, ends, first, until, starts[:0], ends[:0])
    if found == 0:
        return until
    lows = np.empty(found, np.int64)
    highs = np.empty(found, np.int64)
    _count(buffer, ints, octets, starts, ends, first, until, lows, highs)
    return _replace(buffer, ints, octets, starts, ends, first, until, lows, highs)


@leaf
def _count(buffer, ints, octets, starts, ends, first, until, lows, highs):  # type: ignore[no-untyped-def]
    """The number of runs in the tree of phrases; they are recorded as far as there is room."""
    words = ints[WORDS]
    marks, longest = filter_of(ints, words)
    found = 0
    for token in range(first, until):
        if not may_be(octets, marks, longest, buffer, starts[token], ends[token]):
            continue
        word = find(ints, octets, words, buffer, starts[token], ends[token])
        if word < 0:
            continue
        node = ints[ints[ROOTS] + word]
        last = token
        while node >= 0:
            if ints[ints[FINAL] + node] != 0:
                if found < len(lows):
                    lows[found] = token
                    highs[found] = last + 1
                found += 1
            last += 1
            # spaCy makes tokens of all whitespace except single spaces
            if last == until or not (
                starts[last] == ends[last - 1] or (starts[last] == ends[last - 1] + 1 and buffer[ends[last - 1]] == 32)
            ):
                break
            word = find(ints, octets, words, buffer, starts[last], ends[last])
            row = ints[EDGE_AT] + node
            node = np.int32(-1)
            for edge in range(ints[row], ints[row + 1], 2):
                if ints[edge] == word:
                    node = ints[edge + 1]
    return found


@kernel
def _replace(buffer, ints, octets, starts, ends, first, until, lows, highs):  # type: ignore[no-untyped-def]
    specials = ints[SPECIALS]
    seen = np.zeros(until - first, np.bool_)
    chosen = np.zeros(until - first, np.int64)  # by a run's first token: the token after the run
    changed = False
    for length in range(np.max(highs - lows), 0, -1):
        for index in range(len(lows)):
            low, high = lows[index], highs[index]
            if high - low != length:
                continue
            if not seen[low - first] and not seen[high - 1 - first]:
                special = find(ints, octets, specials, buffer, starts[low], ends[high - 1])
                row = ints[PIECE_AT] + special
                if special >= 0 and (length > 1 or ints[row + 1] - ints[row] > 2):
                    chosen[low - first] = high
                    changed = True
            seen[low - first : high - first] = True
    if not changed:
        return until
    old_starts = starts[first:until].copy()
    old_ends = ends[first:until].copy()
    count = first
    token = 0
    while token < len(old_starts):
        high = chosen[token] - first
        if high > 0:
            special = find(ints, octets, specials, buffer, old_starts[token], old_ends[high - 1])
            row = ints[PIECE_AT] + special
            for piece in range(ints[row], ints[row + 1], 2):
                starts[count] = old_starts[token] + ints[piece]
                ends[count] = old_starts[token] + ints[piece + 1]
                count += 1
            token = high
        else:
            starts[count] = old_starts[token]
            ends[count] = old_ends[token]
            count += 1
            token += 1
    return count
