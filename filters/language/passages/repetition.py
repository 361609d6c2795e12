"""Repeated n-grams of words: their code points, for every definition in use.

N-grams are compared as tuples of words, or, as datatrove does for longer ones, as their words joined. Both are exact:
tuples are pairs of numbers (the tuple without its last word, the last word), and joined words are compared byte by byte
where their hashes are equal. Every repeated n-gram begins and ends with a repeated (n-1)-gram, so each length examines
only what the previous one left over, and most texts are done after the 3-grams.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.memory import eight_bytes, put_eight_bytes
from winnow.filters.language.kernels.ranges import (
    _K1,
    document_seed,
    first_equals,
    room_for,
    same_bytes,
    stirred,
)
from winnow.filters.language.kernels.spans import Words
from winnow.filters.language.passages.passages import code_points
from winnow.schemas.kernels import kernel, leaf

Counts = npt.NDArray[np.int64]

_WINDOW = 16  # bytes by which joined n-grams are distinguished before any is hashed
_FILTER = 1 << 22  # bytes: in longer texts more words are false candidates
_HALF = np.uint64(32)
_ONE = np.uint64(1)


class Vocabulary(NamedTuple):
    """Per word: the first equal word of its text, by its place among that text's words, and its code points."""

    firsts: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]


class Grams(NamedTuple):
    """Per text (row) and length from 2 (column): code points in the words of n-grams."""

    characters: Counts  # in all n-grams, with overlaps
    top_copies: Counts  # occurrences of the most common one; the first in a tie
    top_characters: Counts  # in all its occurrences
    shared_characters: Counts  # in all occurrences of repeated ones, with overlaps
    covered_characters: Counts  # the same, but each word counts once


def vocabulary(words: Words) -> Vocabulary:
    """Which words of a text are equal, and their lengths."""
    return Vocabulary(*_vocabulary(words.buffer, words.documents, words.starts, words.ends))


def grams(words: Words, vocabulary: Vocabulary, longest: int) -> Grams:
    """The n-grams of 2 to `longest` words as tuples."""
    found = _grams(words.buffer, words.documents, words.starts, words.ends, *vocabulary, longest)
    return Grams(*found)


def later_grams(words: Words, vocabulary: Vocabulary, shortest: int, longest: int) -> Counts:
    """Code points in n-grams that were seen before, per text and length from `shortest`, as datatrove counts them.

    From left to right, an n-gram whose joined words were seen before is counted and skipped; any other is remembered.
    """
    arguments = (words.buffer, words.documents, words.starts, words.ends, vocabulary.lengths, shortest, longest)
    found: Counts = _later_grams(*arguments)
    return found


@kernel
def _vocabulary(buffer, documents, starts, ends):  # type: ignore[no-untyped-def]
    firsts = np.empty(len(starts), np.int32)
    lengths = np.empty(len(starts), np.int32)
    for document in range(len(documents) - 1):
        low, high = documents[document], documents[document + 1]
        if low == high:
            continue
        seed = document_seed(buffer, starts[low], ends[high - 1])
        firsts[low:high] = first_equals(buffer, starts[low:high], ends[low:high], seed)
        for word in range(low, high):
            first = low + firsts[word]
            lengths[word] = lengths[first] if first < word else code_points(buffer, starts[word], ends[word])
    return firsts, lengths


@kernel
def _grams(buffer, documents, starts, ends, firsts, lengths, longest):  # type: ignore[no-untyped-def]
    texts = len(documents) - 1
    characters = np.zeros((texts, longest - 1), np.int64)
    copies = np.zeros((texts, longest - 1), np.int64)
    top = np.zeros((texts, longest - 1), np.int64)
    shared = np.zeros((texts, longest - 1), np.int64)
    covered = np.zeros((texts, longest - 1), np.int64)
    for document in range(texts):
        low, high = documents[document], documents[document + 1]
        if high - low < 2:
            continue
        seed = document_seed(buffer, starts[low], ends[high - 1])
        totals = np.zeros(high - low + 1, np.int64)
        totals[1:] = np.cumsum(lengths[low:high])
        _grams_of(
            firsts[low:high],
            totals,
            seed,
            longest,
            (characters[document], copies[document], top[document], shared[document], covered[document]),
        )
    return characters, copies, top, shared, covered


@kernel
def _grams_of(words, totals, seed, longest, out):  # type: ignore[no-untyped-def]
    """The n-grams of one text, whose words are numbers."""
    characters, copies, top, shared, covered = out
    count = len(words)
    counts = np.zeros(count, np.int32)  # by n-gram number, which is the position of its first occurrence
    for place in range(count):
        counts[words[place]] += 1
    numbers = words.copy()  # of the (n-1)-gram at each position
    repeated = np.empty(count, np.bool_)  # whether it occurs twice or more
    live = np.empty(count, np.int32)  # the positions where it does
    left = 0
    for place in range(count):
        repeated[place] = counts[words[place]] > 1
        if repeated[place]:
            live[left] = place
            left += 1
    keys = np.empty(count, np.uint64)
    table = np.empty(room_for(left), np.int32)  # 0 is free, else an n-gram's number + 1
    for n in range(2, min(longest, count) + 1):
        column = n - 2
        characters[column] = np.sum(totals[n:]) - np.sum(totals[: count - n + 1])
        kept = 0
        for index in range(left):
            place = live[index]
            if place + n <= count and repeated[place + 1]:
                live[kept] = place
                kept += 1
            else:
                repeated[place] = False  # only earlier positions read this (n-1)-gram, and they are done
        left = kept
        size = room_for(left)
        table[:size] = 0
        mask = np.uint64(size - 1)
        best, best_copies = 0, 1
        for index in range(left):
            place = live[index]
            key = (np.uint64(numbers[place]) << _HALF) | np.uint64(words[place + n - 1])
            slot = stirred(key ^ seed) & mask
            while True:
                number = table[slot] - 1
                if number < 0:
                    table[slot] = place + 1
                    keys[place] = key
                    numbers[place] = place
                    counts[place] = 1
                    break
                if keys[number] == key:
                    numbers[place] = number
                    counts[number] += 1
                    break
                slot = (slot + _ONE) & mask
        kept = 0
        until = 0
        in_shared = in_covered = 0
        for index in range(left):
            place = live[index]
            found = counts[numbers[place]]
            repeated[place] = found > 1
            if found < 2:
                continue
            if found > best_copies:
                best, best_copies = place, found
            length = totals[place + n] - totals[place]
            in_shared += length
            in_covered += totals[place + n] - totals[max(place, until)]
            until = place + n
            live[kept] = place
            kept += 1
        left = kept
        shared[column], covered[column] = in_shared, in_covered
        copies[column] = best_copies
        top[column] = best_copies * (totals[best + n] - totals[best])


@kernel
def _later_grams(buffer, documents, starts, ends, lengths, shortest, longest):  # type: ignore[no-untyped-def]
    texts = len(documents) - 1
    found = np.zeros((texts, longest - shortest + 1), np.int64)
    for document in range(texts):
        low, high = documents[document], documents[document + 1]
        count = high - low
        if count <= shortest:
            continue
        joined, places = _written_together(buffer, starts[low:high], ends[low:high])
        seed = document_seed(joined, 0, places[count])
        repeated = _window_repeats(joined, places, seed)
        # Where a repeated n-gram may begin: words where a window repeats, or ~word where one is shorter than a window.
        live = np.empty(count, np.int32)
        left = 0
        for place in range(count + 1 - shortest):
            live[left] = place if repeated[place] else ~place
            left += repeated[place] or places[place + shortest] - places[place] < _WINDOW
        states = np.empty(left, np.uint64)  # of their hashes, to continue when a word is added
        hashed = np.empty(left, np.int64)
        for index in range(left):
            states[index] = seed
            hashed[index] = places[max(live[index], ~live[index])]
        hashes = np.empty(count, np.uint64)
        table = np.empty(room_for(left), np.int32)
        for n in range(shortest, min(longest, count) + 1):
            left, later = _later_of(joined, places, lengths[low:high], n, live[:left], states, hashed, hashes, table)
            found[document, n - shortest] = later
    return found


@leaf
def _later_of(joined, places, lengths, n, live, states, hashed, hashes, table):  # type: ignore[no-untyped-def]
    """The number of remaining candidates, and the code points of n-grams seen before."""
    mask = np.uint64(room_for(len(live)) - 1)
    for slot in range(room_for(len(live))):
        table[slot] = 0  # 0 is free, else a word's number + 1
    found = kept = 0
    free = 0  # the first position after the last counted n-gram
    for index in range(len(live)):
        place = live[index]
        windowed = place >= 0
        place = max(place, ~place)
        if place + n >= len(places):
            break
        start, end = places[place], places[place + n]
        if not windowed and end - start >= _WINDOW:
            continue
        state, at = states[index], hashed[index]
        while at + 8 <= end:
            state = (state ^ eight_bytes(joined, at)) * _K1
            state ^= state >> _HALF
            at += 8
        live[kept], states[kept], hashed[kept] = live[index], state, at
        kept += 1
        if place < free:
            continue
        # The following bytes are shifted out, with a bit above the rest that marks its size.
        rest = ((eight_bytes(joined, at) << _ONE) | _ONE) << np.uint64(8 * (8 - (end - at)) - 1)
        value = stirred(state ^ rest)
        slot = value & mask
        while True:
            other = table[slot] - 1
            if other < 0:
                table[slot] = place + 1
                hashes[place] = value
                break
            if hashes[other] == value and same_bytes(joined, start, end, places[other], places[other + n]):
                for word in range(place, place + n):
                    found += lengths[word]
                free = place + n
                break
            slot = (slot + _ONE) & mask
    return kept, found


@kernel
def _written_together(buffer, starts, ends):  # type: ignore[no-untyped-def]
    """The words joined, and the start of each; the last entry is the end."""
    places = np.empty(len(starts) + 1, np.int64)
    places[0] = 0
    for word in range(len(starts)):
        places[word + 1] = places[word] + ends[word] - starts[word]
    joined = np.empty(places[-1] + 16, np.uint8)  # with room for loads beyond the last word
    joined[places[-1] :] = 0
    for word in range(len(starts)):
        place, start = places[word], starts[word]
        until = places[word + 1]
        while place < until and start + 8 <= len(buffer):
            put_eight_bytes(joined, place, eight_bytes(buffer, start))  # the next word overwrites the excess
            place += 8
            start += 8
        while place < until:
            joined[place] = buffer[start]
            place += 1
            start += 1
    joined[places[-1] :] = 0
    return joined, places


@leaf
def _window(joined, at, seed):  # type: ignore[no-untyped-def]
    value = (eight_bytes(joined, at) ^ seed) * _K1
    value = (value ^ (value >> _HALF) ^ eight_bytes(joined, at + 8)) * _K1
    return value ^ (value >> _HALF)


@kernel
def _window_repeats(joined, places, seed):  # type: ignore[no-untyped-def]
    """The words at which a window of bytes begins that may also begin at another word.

    N-grams of at least a window's length can be equal only if their windows are. Windows are compared by a few bits of
    a hash: a collision only makes a word a false candidate.
    """
    count = len(places) - 1
    size = min(room_for(8 * count), _FILTER)
    mask = np.uint64(size - 1)
    seen = np.zeros(size, np.uint8)
    for word in range(count):
        slot = _window(joined, places[word], seed) & mask
        seen[slot] = (seen[slot] << 1) | 1  # above 1 from the second one on
    repeated = np.empty(count, np.bool_)
    for word in range(count):
        repeated[word] = seen[_window(joined, places[word], seed) & mask] > 1
    return repeated
