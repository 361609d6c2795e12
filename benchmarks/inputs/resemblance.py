"""The true Jaccard resemblance of texts, for judging what estimates it: sets of shingles of words, compared in full.

Words are those of the style `unicode` (a character of Chinese or Japanese, a cluster of Thai, Khmer, Lao or Burmese),
without regard to case. A shingle is five of them in a row, or all of a text that has fewer. Shingles are held as
hashes of 64 bits; among the few thousand of two texts no two different ones are expected to meet.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.words import segment
from winnow.schemas.kernels import kernel

SHINGLE_WORDS = 5
_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class ShingleSets(NamedTuple):
    """The distinct shingles of every text: those of text i are `values[starts[i] : ends[i]]`, ascending."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    values: npt.NDArray[np.uint64]


def shingle_sets(texts: pa.LargeStringArray) -> ShingleSets:
    """The set of shingles of every text."""
    words = segment(folded(texts), "unicode")
    values = _shingles(words.documents, span_hashes(words.buffer, words.starts, words.ends))
    ends = _distinct(words.documents, values)
    return ShingleSets(words.documents[:-1], ends, values)


def jaccards(sets: ShingleSets, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The resemblance of each left text to the right one beside it; two texts without words are alike."""
    resemblance: npt.NDArray[np.float64] = _jaccards(sets.starts, sets.ends, sets.values, left, right)
    return resemblance


def folded(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Texts in lower case; a final sigma is a sigma, as its capital does not tell them apart."""
    return pc.replace_substring(pc.utf8_lower(texts), "ς", "σ")


@kernel  # type: ignore[untyped-decorator]
def span_hashes(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """A hash of the bytes of every span of a buffer (FNV-1a)."""
    hashes = np.empty(len(starts), np.uint64)
    for span in range(len(starts)):
        found = _FNV_START
        for at in range(starts[span], ends[span]):
            found = (found ^ np.uint64(buffer[at])) * _FNV_PRIME
        hashes[span] = found
    return hashes


@kernel
def _shingles(documents, words):  # type: ignore[no-untyped-def]
    """One value a word: the shingle that begins there; the last words of a text repeat its last shingle."""
    values = np.empty(len(words), np.uint64)
    for document in range(len(documents) - 1):
        first, end = documents[document], documents[document + 1]
        last = max(first, end - SHINGLE_WORDS)
        for at in range(first, end):
            begin = min(at, last)
            found = np.uint64(end - first) if end - first < SHINGLE_WORDS else np.uint64(SHINGLE_WORDS)
            for word in range(begin, min(begin + SHINGLE_WORDS, end)):
                found = (found ^ words[word]) * _SPREAD
                found ^= found >> np.uint64(29)
            values[at] = found
    return values


@kernel
def _distinct(documents, values):  # type: ignore[no-untyped-def]
    """Sort the values of each text in place without repetition; returns where each set ends."""
    ends = np.empty(len(documents) - 1, np.int64)
    for document in range(len(documents) - 1):
        first, end = documents[document], documents[document + 1]
        ordered = np.sort(values[first:end])
        kept = first
        for at in range(len(ordered)):
            if at == 0 or ordered[at] != ordered[at - 1]:
                values[kept] = ordered[at]
                kept += 1
        ends[document] = kept
    return ends


@kernel
def _jaccards(starts, ends, values, left, right):  # type: ignore[no-untyped-def]
    resemblance = np.empty(len(left), np.float64)
    for pair in range(len(left)):
        one, one_end = starts[left[pair]], ends[left[pair]]
        two, two_end = starts[right[pair]], ends[right[pair]]
        sizes = one_end - one + two_end - two
        shared = 0
        while one < one_end and two < two_end:
            if values[one] == values[two]:
                shared += 1
                one += 1
                two += 1
            elif values[one] < values[two]:
                one += 1
            else:
                two += 1
        resemblance[pair] = shared / (sizes - shared) if sizes else 1.0
    return resemblance
