"""Texts as sparse rows: words, pairs of words and sequences of characters, hashed into buckets (arXiv 0902.2206).

ASCII letters are lower-cased, and white space becomes one blank. A feature's hash gives its bucket and its sign, so
that colliding features cancel as often as they add. A row's norm is 1. Only IEEE operations in a fixed order: a text's
row is the same on any machine.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import uint64
from numpy.typing import NDArray

from winnow.schemas.kernels import arithmetic
from winnow.scoring.linear.features import Integers, Sparse

OFFSET = uint64(14_695_981_039_346_656_037)  # FNV-1a
PRIME = uint64(1_099_511_628_211)
_MIX_1 = uint64(0xBF58476D1CE4E5B9)  # SplitMix64
_MIX_2 = uint64(0x94D049BB133111EB)
_OF_WORDS = uint64(0x9E3779B97F4A7C15)  # separates words from sequences of characters

_BLANK = np.uint8(32)


@dataclass(frozen=True, slots=True)
class Hashing:
    """The features of a text."""

    buckets: int = 1 << 16
    words: int = 2  # the longest sequence of words; 0 for none
    characters: tuple[int, int] = (3, 4)  # the shortest and the longest sequence; (1, 0) for none
    max_bytes: int = 4096  # only a text's beginning is read


def text_places(texts: pa.Array) -> tuple[NDArray[np.uint8], Integers, Integers]:
    """The bytes of strings, and the start and end of each; nulls are empty."""
    strings = texts.cast(pa.large_string())
    _, offsets, content = strings.buffers()
    if offsets is None or not len(strings):
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    places = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    raw = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    valid = np.asarray(strings.is_valid())
    return raw, places[:-1], np.where(valid, places[1:], places[:-1])


def hashed_texts(texts: pa.Array, hashing: Hashing) -> Sparse:
    """One row per text; empty if it has no features."""
    raw, starts, ends = text_places(texts)
    low, high = hashing.characters
    indices, values, offsets = _hashed(raw, starts, ends, hashing.buckets, hashing.words, low, high, hashing.max_bytes)
    return Sparse(indices, values, offsets, hashing.buckets)


@arithmetic
def mixed(value):  # type: ignore[no-untyped-def]
    """Spread every bit over all others."""
    value = (value ^ (value >> uint64(30))) * _MIX_1
    value = (value ^ (value >> uint64(27))) * _MIX_2
    return value ^ (value >> uint64(31))


@arithmetic
def _plain(raw, start, end, plain, begins):  # type: ignore[no-untyped-def]
    """Write a text in lower case with single blanks, and its characters' starts; returns its bytes and characters."""
    size = characters = 0
    for at in range(start, end):
        byte = raw[at]
        if byte <= _BLANK:
            if size == 0 or plain[size - 1] == _BLANK:
                continue
            byte = _BLANK
        elif np.uint8(65) <= byte <= np.uint8(90):
            byte = np.uint8(byte | np.uint8(32))
        if byte & np.uint8(0xC0) != np.uint8(0x80):
            begins[characters] = size
            characters += 1
        plain[size] = byte
        size += 1
    if size > 0 and plain[size - 1] == _BLANK:
        size -= 1
        characters -= 1
    begins[characters] = size
    return size, characters


@arithmetic
def _is_word(byte):  # type: ignore[no-untyped-def]
    return byte >= 128 or 97 <= byte <= 122 or 48 <= byte <= 57


@arithmetic
def _add(value, buckets, sums, seen, mark, touched, count):  # type: ignore[no-untyped-def]
    value = mixed(value)
    bucket = np.int64((value >> uint64(32)) % uint64(buckets))
    if seen[bucket] != mark:
        seen[bucket] = mark
        sums[bucket] = 0
        touched[count] = bucket
        count += 1
    sums[bucket] += 1 if value & uint64(1) else -1
    return count


@arithmetic
def _hashed(raw, starts, ends, buckets, words, low, high, max_bytes):  # type: ignore[no-untyped-def]
    rows = len(starts)
    sums, seen = np.zeros(buckets, np.int32), np.zeros(buckets, np.int64)
    touched = np.empty(buckets, np.int32)
    plain, begins = np.empty(max_bytes, np.uint8), np.empty(max_bytes + 1, np.int64)
    before = np.empty(max(words, 1), np.uint64)
    offsets = np.zeros(rows + 1, np.int64)
    indices, values = np.empty(1024, np.int32), np.empty(1024, np.float32)
    for row in range(rows):
        start, end = starts[row], ends[row]
        if end - start > max_bytes:
            end = start + max_bytes
            while end > start and raw[end] & np.uint8(0xC0) == np.uint8(0x80):
                end -= 1
        size, characters = _plain(raw, start, end, plain, begins)
        mark, count = row + 1, 0
        for first in range(characters):
            value = OFFSET
            for length in range(1, min(high, characters - first) + 1):
                for at in range(begins[first + length - 1], begins[first + length]):
                    value = (value ^ uint64(plain[at])) * PRIME
                if length >= low:
                    count = _add(value, buckets, sums, seen, mark, touched, count)
        at = known = 0
        while at < size and words > 0:
            if not _is_word(plain[at]):
                at += 1
                continue
            value = OFFSET
            while at < size and _is_word(plain[at]):
                value = (value ^ uint64(plain[at])) * PRIME
                at += 1
            known = min(known + 1, words)
            for place in range(known - 1, 0, -1):
                before[place] = mixed(before[place - 1]) * PRIME + value
                count = _add(before[place] ^ _OF_WORDS, buckets, sums, seen, mark, touched, count)
            before[0] = value
            count = _add(value ^ _OF_WORDS, buckets, sums, seen, mark, touched, count)
        total = np.int64(0)
        for place in range(count):
            total += np.int64(sums[touched[place]]) * np.int64(sums[touched[place]])
        filled = offsets[row]
        if filled + count > len(indices):
            more = max(2 * len(indices), filled + count)
            wider_indices, wider_values = np.empty(more, np.int32), np.empty(more, np.float32)
            wider_indices[:filled], wider_values[:filled] = indices[:filled], values[:filled]
            indices, values = wider_indices, wider_values
        norm = np.sqrt(np.float64(total))
        for place in range(count):
            if sums[touched[place]] != 0:
                indices[filled] = touched[place]
                values[filled] = np.float32(sums[touched[place]] / norm)
                filled += 1
        offsets[row + 1] = filled
    return indices[: offsets[rows]].copy(), values[: offsets[rows]].copy(), offsets
