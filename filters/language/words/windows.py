"""Runs of a fixed number of tokens as hashes, and few places by which equal runs of any texts are found.

A window is `size` tokens in a row. Its anchor is the piece of half as many tokens whose hash is the smallest in it, as
in winnowing (Schleimer, Wilkerson and Aiken 2003): equal windows have equal anchors, and one in thirteen of 50 tokens
begins another anchor. So windows are compared only where an anchor is found twice. Their hashes are polynomials modulo
the prime 2^61 - 1 for two bases: whatever texts there are that were not made for these bases, two windows of `size`
tokens that differ have equal hashes with a chance of at most (size / 2^61)^2, some 10^-33 for 50 tokens.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from winnow.filters.language.kernels.classes import SPACE, decode, flags_of, unicode_classes, width
from winnow.filters.language.kernels.hashes import hash_bytes, mixed, mixed_values
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.language.words.pieces import with_room
from winnow.filters.language.words.unspaced import split_unicode
from winnow.schemas.kernels import inlined, kernel

Ints: TypeAlias = npt.NDArray[np.int64]
Hashes: TypeAlias = npt.NDArray[np.uint64]

_PRIME = (1 << 61) - 1
_BASES = (0x0A3C59D1E7B6F28D, 0x15F08D4B92C7E361)  # chosen at random, below the prime
_BASE = 0x9E3779B97F4A7C15  # for anchors, of which no more is asked than that few are equal
_MODULUS, _LAST_30, _LAST_31 = uint64(_PRIME), uint64((1 << 30) - 1), uint64((1 << 31) - 1)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a column of texts.

    Text i has the tokens `documents[i]` to `documents[i + 1]`; token j is the bytes `starts[j]` to `ends[j]` of the
    buffer.
    """

    documents: Ints
    starts: Ints
    ends: Ints
    signs: npt.NDArray[np.bool_]  # those that are no words
    hashes: Hashes


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of all windows; each belongs to some windows in a row."""

    windows: Ints  # the first token of each window, ascending
    bounds: Ints  # anchor j is that of `windows[bounds[j] : bounds[j + 1]]`
    hashes: Hashes

    @property
    def firsts(self) -> Ints:
        """The first token of the first window of each anchor."""
        return self.windows[self.bounds[:-1]]

    @property
    def keys(self) -> Hashes:
        """A row of two halves for each anchor."""
        return np.stack([self.hashes, np.zeros_like(self.hashes)], 1)

    def windows_of(self, chosen: npt.NDArray[np.bool_]) -> Ints:
        """The windows of some anchors."""
        return self.windows[np.repeat(chosen, np.diff(self.bounds))]


def tokens_of(texts: Texts) -> Tokens:
    """Words without regard to language, single characters of scripts without spaces, and signs between white space."""
    words = split_unicode(texts)
    return Tokens(*_tokens(texts.buffer, texts.offsets, words.documents, words.starts, words.ends, unicode_classes()))


def bytes_of(texts: Texts) -> Tokens:
    """Every byte as a token."""
    begin, end = int(texts.offsets[0]), int(texts.offsets[-1])
    starts = np.arange(begin, end)
    hashes = hashes_of_bytes(texts.buffer[begin:end])
    return Tokens(texts.offsets - begin, starts, starts + 1, np.zeros(end - begin, np.bool_), hashes)


def anchors_of(tokens: Tokens, size: int) -> Anchors:
    """The anchors of all windows of so many tokens."""
    piece = (size + 1) // 2
    power = uint64(pow(_BASE, piece, 1 << 64))
    hashes = _piece_hashes(tokens.hashes, tokens.documents, piece, power)
    places = _lowest(hashes, tokens.documents, size, size - piece + 1)
    windows = np.flatnonzero(places >= 0)
    places = places[windows]
    begins = np.flatnonzero(np.append(True, places[1:] != places[:-1])[: len(places)])
    return Anchors(windows, np.append(begins, len(windows)), hashes[places[begins]])


def range_hashes(hashes: Hashes, begins: Ints, ends: Ints) -> Hashes:
    """The hashes of ranges of tokens, whose begins and ends ascend: a row of two halves each."""
    least, most = (int(edge(ends - begins)) if len(begins) else 0 for edge in (np.min, np.max))
    powers = np.empty((most - least + 1, 2), np.uint64)
    powers[0] = [pow(base, least, _PRIME) for base in _BASES]
    found: Hashes = _range_hashes(hashes, begins, ends, powers, least)
    return found


def hashes_of_bytes(values: npt.NDArray[np.uint8]) -> Hashes:
    """The hash of each byte as a token."""
    return mixed_values(np.arange(1, 257, dtype=np.uint64))[values]


@kernel
def _tokens(buffer, offsets, words, word_starts, word_ends, classes):  # type: ignore[no-untyped-def]
    """The words, and each run of other characters between words and white space, of every text."""
    documents = np.zeros(len(offsets), np.int64)
    starts = np.empty(len(word_starts) + len(word_starts) // 4 + 64, np.int64)
    ends = np.empty(len(starts), np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at = offsets[document]
        between = offsets[document + 1] - at  # bytes
        for word in range(words[document], words[document + 1]):
            between -= word_ends[word] - word_starts[word]
        more = words[document + 1] - words[document] + between
        starts = with_room(starts, count, more)
        ends = with_room(ends, count, more)
        for word in range(words[document], words[document + 1] + 1):
            last = word == words[document + 1]
            stop = offsets[document + 1] if last else word_starts[word]
            signed = False
            while at < stop:
                lead = buffer[at]
                after = at + width(lead)
                if flags_of(classes, lead if lead < 0x80 else decode(buffer, at)) & SPACE:
                    signed = False
                else:
                    if not signed:
                        starts[count] = at
                        count += 1
                        signed = True
                    ends[count - 1] = after
                at = after
            if not last:
                starts[count], ends[count] = word_starts[word], word_ends[word]
                count += 1
                at = word_ends[word]
        documents[document + 1] = count
    signs = np.empty(count, np.bool_)
    hashes = np.empty(count, np.uint64)
    word = 0
    for token in range(count):
        signs[token] = word == len(word_starts) or starts[token] != word_starts[word]
        word += not signs[token]
        hashes[token] = hash_bytes(buffer, starts[token], ends[token])
    return documents, starts[:count].copy(), ends[:count].copy(), signs, hashes


@kernel
def _piece_hashes(hashes, documents, piece, power):  # type: ignore[no-untyped-def]
    """The hash of the piece that begins at each token; those that a text's end cuts off have none."""
    found = np.empty(len(hashes), np.uint64)
    for document in range(len(documents) - 1):
        first = documents[document]
        rolled = uint64(0)
        for at in range(first, documents[document + 1]):
            rolled = rolled * uint64(_BASE) + hashes[at]
            if at - first >= piece:
                rolled -= hashes[at - piece] * power
            if at - first >= piece - 1:
                found[at - piece + 1] = mixed(rolled)
    return found


@kernel
def _lowest(hashes, documents, size, pieces):  # type: ignore[no-untyped-def]
    """For each token: the place of the lowest hash among the pieces of the window that begins there, or -1."""
    found = np.full(len(hashes), -1, np.int64)
    room = 1
    while room <= pieces:
        room *= 2
    waiting = np.empty(room, np.int64)  # a ring: places of hashes that ascend, each the lowest from there on
    last = room - 1  # a power of two less one, as division is slow
    for document in range(len(documents) - 1):
        first = documents[document]
        head = tail = 0
        for at in range(first, documents[document + 1] - (size - pieces)):
            if head < tail and waiting[head & last] <= at - pieces:
                head += 1
            while head < tail and hashes[waiting[(tail - 1) & last]] > hashes[at]:
                tail -= 1
            waiting[tail & last] = at
            tail += 1
            if at - first >= pieces - 1:
                found[at - pieces + 1] = waiting[head & last]
    return found


@inlined
def _reduced(value):  # type: ignore[no-untyped-def]
    value = (value >> uint64(61)) + (value & _MODULUS)
    return value - _MODULUS if value >= _MODULUS else value


@inlined
def _product(one, other):  # type: ignore[no-untyped-def]
    """The product modulo the prime of two numbers below it."""
    high, low = one >> uint64(31), one & _LAST_31
    high_other, low_other = other >> uint64(31), other & _LAST_31
    middle = low * high_other + high * low_other
    return _reduced(
        high * high_other * uint64(2) + (middle >> uint64(30)) + ((middle & _LAST_30) << uint64(31)) + low * low_other
    )


@inlined
def _appended(value, hashed, number):  # type: ignore[no-untyped-def]
    return _reduced(_product(value, uint64(_BASES[number])) + _reduced(hashed))


@kernel
def _range_hashes(hashes, begins, ends, powers, least):  # type: ignore[no-untyped-def]
    """A range is what there is to its end, without what there is to its begin, moved up by as many tokens."""
    for length in range(1, len(powers)):
        powers[length, 0] = _product(powers[length - 1, 0], uint64(_BASES[0]))
        powers[length, 1] = _product(powers[length - 1, 1], uint64(_BASES[1]))
    found = np.empty((len(begins), 2), np.uint64)
    before = after = np.int64(0)  # the tokens after those that are hashed, up to a begin and up to an end
    first = second = first_all = second_all = uint64(0)
    for number in range(len(begins)):
        begin, end = begins[number], ends[number]
        if begin >= after:
            before = after = begin
            first = second = first_all = second_all = uint64(0)
        while before < begin:
            first, second = _appended(first, hashes[before], 0), _appended(second, hashes[before], 1)
            before += 1
        while after < end:
            first_all, second_all = _appended(first_all, hashes[after], 0), _appended(second_all, hashes[after], 1)
            after += 1
        power = powers[end - begin - least]
        found[number, 0] = _reduced(first_all + (_MODULUS - _product(first, power[0])))
        found[number, 1] = _reduced(second_all + (_MODULUS - _product(second, power[1])))
    return found
