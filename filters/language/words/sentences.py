"""Sentences by spaCy's rule-based sentencizer, split as in datatrove's `split_into_sentences`.

A token that is one of the marks of `sentence_ends` ends a sentence together with all following punctuation; the next
token begins another, even if it is whitespace (spaCy's tokens include any but a single space). Sentences are
contiguous: whitespace between two belongs to the second, and together they cover the text.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import PUNCT, decode, unicode_classes, width
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.filters.language.words.pieces import roomy
from winnow.filters.language.words.rules import sentence_ends
from winnow.schemas.kernels import kernel, leaf

_SPACE = 32


def split_sentences(texts: Texts, words: Words) -> Words:
    """The sentences of every text from its tokens; a text without tokens is one sentence."""
    return Words(
        texts.buffer,
        *_sentences(
            texts.buffer,
            texts.offsets,
            words.documents,
            words.starts,
            words.ends,
            *sentence_ends(),
            *unicode_classes(),
        ),
    )


def sentences_of_lines(
    words: Words, lines: npt.NDArray[np.int64], places: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The number of sentences in some lines of each text, by the texts' tokens, with each line treated as a text.

    Text i has the lines `lines[i]` to `lines[i + 1]`; a line is the bytes between its two positions, without
    surrounding
    white space, in ascending order. A line with a position below 0 is skipped, and an empty one has no sentence.
    """
    arguments = (words.buffer, words.documents, words.starts, words.ends, lines, places)
    found: npt.NDArray[np.int64] = _sentences_of_lines(*arguments, *sentence_ends(), *unicode_classes())
    return found


@kernel
def _sentences_of_lines(  # type: ignore[no-untyped-def]
    buffer, documents, starts, ends, lines, places, mark_pages, marks, pages, flags
):
    found = np.zeros(len(documents) - 1, np.int64)
    begins = np.empty(len(starts) + 1, np.int64)  # of one line: unused
    for document in range(len(documents) - 1):
        high = documents[document]
        after = documents[document + 1]
        for line in range(lines[document], lines[document + 1]):
            start, end = places[line, 0], places[line, 1]
            if start < 0 or start == end:
                continue
            low = high
            while low < after and starts[low] < start:
                low += 1
            high = low
            while high < after and starts[high] < end:
                high += 1
            found[document] += _document_sentences(
                buffer, start, end, starts[low:high], ends[low:high], mark_pages, marks, pages, flags, begins, 1
            )
    return found


@kernel
def _sentences(buffer, offsets, documents, starts, ends, mark_pages, marks, pages, flags):  # type: ignore[no-untyped-def]
    sentences = np.zeros(len(documents), np.int64)
    begins = np.empty(len(starts) // 8 + 64, np.int64)
    count = 0
    for document in range(len(documents) - 1):
        low, high = documents[document], documents[document + 1]
        begins = roomy(begins, count, high - low + 1)
        begins[count] = offsets[document]
        count = _document_sentences(
            buffer,
            offsets[document],
            offsets[document + 1],
            starts[low:high],
            ends[low:high],
            mark_pages,
            marks,
            pages,
            flags,
            begins,
            count + 1,
        )
        sentences[document + 1] = count
    stops = np.empty(count, np.int64)
    for document in range(len(documents) - 1):
        low, high = sentences[document], sentences[document + 1]
        stops[low : high - 1] = begins[low + 1 : high]
        stops[high - 1] = offsets[document + 1]
    return sentences, begins[:count].copy(), stops


@leaf
def _document_sentences(buffer, start, end, starts, ends, mark_pages, marks, pages, flags, begins, count):  # type: ignore[no-untyped-def]
    ended = False
    before = start
    for token in range(len(starts)):
        at, stop = starts[token], ends[token]
        if ended and at > before and not (at == before + 1 and buffer[before] == _SPACE):
            begins[count] = before  # at the whitespace
            count += 1
            ended = False
        point = decode(buffer, at)
        mark = marks[(np.int64(mark_pages[point >> 8]) << 8) | (point & 0xFF)]
        if mark != 0 and at + width(buffer[at]) == stop:
            ended = True
        elif ended:
            inside = at
            while inside < stop:
                point = decode(buffer, inside)
                if flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)] & PUNCT == 0:
                    begins[count] = before
                    count += 1
                    ended = False
                    break
                inside += width(buffer[inside])
        before = stop
    if ended and end > before and not (end == before + 1 and buffer[before] == _SPACE):
        begins[count] = before
        count += 1
    return count
