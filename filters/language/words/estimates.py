"""Words of languages whose segmentation needs a package, estimated without it.

A text is split into units that need no dictionary: characters in Chinese, Japanese and Korean, clusters of a letter and
its marks in Thai, Lao, Khmer and Burmese, syllables in Vietnamese, and symbols. How many units make a word on average
was measured with the packages (`Package.units`); counts of words and lengths of n-grams are scaled by it. Words in
other letters, and numbers, are words as they are. So thresholds that were made for words apply;
docs/reference/annotate.md says how often verdicts agree.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.kernels.classes import CONTROL, FORMAT, MARK, SPACE, flags_by_point
from winnow.filters.language.kernels.spans import Words, texts_of
from winnow.filters.language.passages.makeup import Makeup
from winnow.filters.language.words.packages import Units
from winnow.filters.language.words.segments import segment

ESTIMATED = "estimated"
"""The segmentation of texts whose words are estimated."""

_HANGUL = (0xEA, 0xED)  # the first bytes of syllables; Yi and a few others share them
_UNSPACED = 0xE0  # no character of a script without spaces, or of Hangul, begins with less


def split_units(texts: pa.LargeStringArray, spaced: bool) -> Words:
    """The units of every text: `spaced` takes runs of letters as they are, as in Vietnamese."""
    found = segment(texts, "unicode")
    offsets = texts_of(texts).offsets
    heads = found.buffer[found.starts]
    whole = np.full(len(heads), True) if spaced else (heads < _HANGUL[0]) | (heads > _HANGUL[1])
    characters = _characters(found, whole, int(offsets[0]), int(offsets[-1]))
    lead = found.buffer[characters]
    ends = characters + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    starts = np.concatenate([found.starts[whole], characters])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.concatenate([found.ends[whole], ends])[order]
    return Words(found.buffer, np.searchsorted(starts, offsets), starts, ends)


def _characters(found: Words, whole: npt.NDArray[np.bool_], begin: int, end: int) -> npt.NDArray[np.int64]:
    """Where characters begin that are units of their own: outside words those that are seen, inside of words all."""
    edges = np.zeros(end - begin + 1, np.int8)
    edges[found.starts[whole] - begin] += 1
    edges[found.ends[whole] - begin] -= 1
    text = found.buffer[begin:end]
    free = np.flatnonzero((np.cumsum(edges[:-1], dtype=np.int8) == 0) & ((text & 0xC0) != 0x80) & (text > 0x20))
    padded = np.append(text, np.zeros(3, np.uint8)).astype(np.int32)
    lead, second, third, fourth = (padded[free + place] for place in range(4))
    points = np.select(
        [lead < 0x80, lead < 0xE0, lead < 0xF0],
        [lead, (lead & 0x1F) << 6 | second & 0x3F, (lead & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F],
        (lead & 7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F,
    )
    unseen = flags_by_point()[np.minimum(points, 0x10FFFF)] & (SPACE | CONTROL | FORMAT | MARK)
    return np.asarray(free[unseen == 0] + begin, np.int64)


def estimated_makeup(
    texts: pa.LargeStringArray, found: Words, made: Makeup, units: Units, stop_words: tuple[str, ...]
) -> Makeup:
    """The makeup of the words that these units make.

    Args:
        texts: The texts.
        found: Their units.
        made: The makeup of the units as if each were a word.
        units: How many of them make a word.
        stop_words: Where units are no words, those that occur anywhere in a text are counted.
    """
    own = made.alphabetic_words
    if not units.spaced:
        own = np.minimum(own, _per_text(found, found.buffer[found.starts] >= _UNSPACED))
    more = np.rint(own * (1 - 1 / units.per_word)).astype(np.int64)  # units beyond one for each word
    joined = np.rint((made.words - made.solid_words) * (1 - units.symbols)).astype(np.int64)
    made = made._replace(
        words=made.words - more - joined,
        solid_words=made.solid_words - more,
        alphabetic_words=made.alphabetic_words - more,
    )
    if units.spaced:
        return made
    counts = [np.asarray(pc.count_substring(texts, word).fill_null(0), np.int64) for word in stop_words]
    none = np.zeros(len(texts), np.int64)
    kinds, occurrences = sum(((count > 0).astype(np.int64) for count in counts), none), sum(counts, none)
    return made._replace(stop_kinds=kinds, stop_words=occurrences)


def _per_text(found: Words, marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    counted = np.concatenate([[0], np.cumsum(marked)])
    return np.asarray(np.diff(counted[found.documents]), np.int64)
