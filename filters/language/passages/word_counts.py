"""Counts of words by kind and length, and of marks, per text."""

import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, Table, decode, flags_of, table_of, unicode_classes, width
from winnow.filters.language.kernels.lookup import find, strings_block
from winnow.filters.language.kernels.ranges import code_points
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.filters.language.passages.repetition import Vocabulary
from winnow.schemas.kernels import kernel

Counts = npt.NDArray[np.int64]

_ALPHABETIC = 1  # flags of characters; a word has the flags of all its characters, and _STOP
_SOLID = 2
_MARKED = 4
_STOP = 8
_HASH = 35  # #
_DOT = 46
_LENGTHS = 256
# Punctuation in datatrove 0.10.1, whose Gopher rules ignore words made only of it: a list of signs with control
# characters and the digit `１`, and the sentence ends of all scripts.
_POINTS = (
    "0-8 B-1F 21-2F 3A-40 5B-60 7B-9F AB B4 BB 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 "
    "1367-1368 166E 1735-1736 17D4-17D6 17D9-17DA 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E "
    "1C3B-1C3C 1C7E-1C7F 2013-2014 2019 201C-201E 2026 203C-203D 2047-2049 2236 2501 25BA 2E2E 2E3C 2E53-2E54 "
    "3001-3002 3008-300D 3010-3011 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 "
    "ABEB FE52 FE56-FE57 FF01 FF05 FF08-FF09 FF0C FF0E FF11 FF1A-FF1B FF1F FF5E FF61 10A56-10A57 10F55-10F59 "
    "10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 "
    "1144B-1144C 115C2-115C3 115C9-115D7 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 "
    "11EF7-11EF8 11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F 1DA88"
)
DATATROVE_SYMBOLS = "".join(
    chr(point)
    for first, _, last in (run.partition("-") for run in _POINTS.split())
    for point in range(int(first, 16), int(last or first, 16) + 1)
)


class MarkCounts(NamedTuple):
    """Per text: its code points, and the `str.count` of `#`, and of `...` and `…` together."""

    characters: Counts
    hashes: Counts
    ellipses: Counts


class WordCounts(NamedTuple):
    """Per text: its words by kind, and their code points."""

    words: Counts
    characters: Counts
    solid_words: Counts  # with a character that is not a symbol
    solid_characters: Counts
    alphabetic_words: Counts  # with an alphabetic character
    marked_words: Counts  # with `#` or `…`
    stop_words: Counts  # in the list
    stop_kinds: Counts  # number of different ones in the list
    median_length: npt.NDArray[np.float64]  # 0 without words


def count_marks(texts: Texts) -> MarkCounts:
    """Code points, hashes and ellipses."""
    return MarkCounts(*_marks(texts.buffer, texts.offsets))


@lru_cache(maxsize=1)
def kinds_of_characters() -> Table:
    """The word flags of every character; a word of only symbols is not solid."""
    points = np.arange(sys.maxunicode + 1)
    classes = unicode_classes()
    flags = classes.flags[(classes.pages[points >> 8].astype(np.int64) << 8) | (points & 0xFF)]
    kinds = np.where(flags & ALPHA, _ALPHABETIC, 0) | _SOLID
    kinds[[ord(symbol) for symbol in DATATROVE_SYMBOLS]] &= ~_SOLID
    kinds[[ord(mark) for mark in "#…"]] |= _MARKED
    return table_of(kinds.astype(np.uint16))


def count_words(words: Words, vocabulary: Vocabulary, kinds: Table, stop_words: Iterable[str]) -> WordCounts:
    """Words by kind, according to `kinds_of_characters`; stop words are compared byte by byte."""
    stops, octets = strings_block(sorted({word for word in stop_words if word}), 0, 0)
    arguments = (words.buffer, words.documents, words.starts, words.ends, *vocabulary)
    return WordCounts(*_makeup(*arguments, kinds, stops, np.frombuffer(octets, np.uint8)))


@kernel
def _marks(buffer, offsets):  # type: ignore[no-untyped-def]
    texts = len(offsets) - 1
    characters = np.zeros(texts, np.int64)
    hashes = np.zeros(texts, np.int64)
    ellipses = np.zeros(texts, np.int64)
    for text in range(texts):
        at, end = offsets[text], offsets[text + 1]
        characters[text] = code_points(buffer, at, end)
        while at < end:
            byte = buffer[at]
            at += 1
            if byte == _HASH:
                hashes[text] += 1
            elif byte == _DOT:
                if at + 1 < end and buffer[at] == _DOT and buffer[at + 1] == _DOT:
                    ellipses[text] += 1
                    at += 2
            elif byte == 0xE2 and at + 1 < end and buffer[at] == 0x80 and buffer[at + 1] == 0xA6:
                ellipses[text] += 1
                at += 2
    return characters, hashes, ellipses


@kernel
def _makeup(  # type: ignore[no-untyped-def]
    buffer, documents, starts, ends, firsts, lengths, characters, stops, octets
):
    texts = len(documents) - 1
    counts = np.zeros((8, texts), np.int64)
    medians = np.zeros(texts, np.float64)
    kinds = np.zeros(len(starts), np.uint8)
    for document in range(texts):
        low, high = documents[document], documents[document + 1]
        counts[0, document] = high - low
        for word in range(low, high):
            first = low + firsts[word]
            if first < word:
                kind = kinds[first]
            else:
                kind = np.uint8(0)
                at, end = starts[word], ends[word]
                while at < end:
                    kind |= np.uint8(flags_of(characters, decode(buffer, at)))
                    at += width(buffer[at])
                if find(stops, octets, 0, buffer, starts[word], end) >= 0:
                    kind |= np.uint8(_STOP)
                    counts[7, document] += 1
                kinds[word] = kind
            counts[1, document] += lengths[word]
            if kind & _SOLID:
                counts[2, document] += 1
                counts[3, document] += lengths[word]
            counts[4, document] += (kind & _ALPHABETIC) != 0
            counts[5, document] += (kind & _MARKED) != 0
            counts[6, document] += (kind & _STOP) != 0
        medians[document] = _median(lengths[low:high])
    return counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], counts[7], medians


@kernel
def _median(lengths):  # type: ignore[no-untyped-def]
    """The median length; 0 without words."""
    count = len(lengths)
    if count == 0:
        return 0.0
    histogram = np.zeros(_LENGTHS, np.int64)
    for length in lengths:
        histogram[min(length, _LENGTHS - 1)] += 1
    lower, upper = (count - 1) // 2, count // 2
    passed = 0
    below = -1
    for length in range(_LENGTHS - 1):
        passed += histogram[length]
        if below < 0 and passed > lower:
            below = length
        if passed > upper:
            return (below + length) / 2
    ordered = np.sort(lengths)
    return (ordered[lower] + ordered[upper]) / 2
