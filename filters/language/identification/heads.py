"""The language of a column of texts, each judged by its beginning."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.identification.model import (
    Guesses,
    LanguageModel,
    Normalise,
    one_line,
    quantised,
)
from winnow.filters.language.identification.scripts import Scripts, dominant_scripts
from winnow.filters.language.kernels.spans import texts_of
from winnow.schemas.languages import macrolanguage

_LEAST = 0.001  # lower scores are not added up: a model has up to thousands of labels


@dataclass(frozen=True, slots=True)
class TextHeads:
    """The beginnings of a column of texts."""

    buffer: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    scripts: Scripts

    def texts(self) -> Iterator[bytes]:
        """Each beginning, as UTF-8."""
        buffer = self.buffer.data
        return (bytes(buffer[start:end]) for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True))


def heads_of(texts: pa.Array, max_bytes: int) -> TextHeads:
    """The beginning of each text, cut at a character within a number of bytes."""
    found = texts_of(texts)
    starts, ends = found.offsets[:-1], found.offsets[1:].copy()
    for row in np.flatnonzero(ends - starts > max_bytes):  # rare: the cut steps back to the start of a character
        end = int(starts[row]) + max_bytes
        while found.buffer[end] & 0xC0 == 0x80:
            end -= 1
        ends[row] = end
    return TextHeads(found.buffer, starts, ends, dominant_scripts(found.buffer, starts, ends))


def guesses_of(heads: TextHeads, model: LanguageModel, normalise: Normalise, most: int) -> Guesses:
    """The guesses for each text; none where it has no letters."""
    lines = [one_line(text, normalise) for text in heads.texts()]
    return model.guesses(lines, heads.scripts, most)


def best_codes(guesses: Guesses, model: LanguageModel) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The number of each text's code in the model's `codes`, and its score: 0 where the model guessed another."""
    best = guesses.best()
    if not len(guesses.numbers):
        return best, np.zeros(len(best))
    refused = np.array([known.mismatch is not None for known in model.codes])
    numbers = guesses.numbers[best]
    return numbers, np.where(refused[numbers], 0.0, guesses.scores[best])


def macrolanguage_scores(
    heads: TextHeads, guesses: Guesses, model: LanguageModel, normalise: Normalise
) -> npt.NDArray[np.float64]:
    """Each text's score for the macrolanguage of its likeliest language: the sum of those of all members.

    Members such as Croatian, Serbian and Bosnian share most of their words, so a model divides its score among them.
    The score of a language without a macrolanguage, or without another member that the model knows, is its own.
    """
    numbers, scores = best_codes(guesses, model)
    shared = np.array([model.has_relatives(number) for number in range(len(model.codes))], np.bool_)
    rows = np.flatnonzero(guesses.judged & (scores > 0))
    rows = rows[shared[numbers[rows]]]
    chosen = set(rows.tolist())
    lines = [one_line(text, normalise) for row, text in enumerate(heads.texts()) if row in chosen]
    every = model.guesses(lines, heads.scripts.take(rows), model.size, _LEAST)
    macros = [None if known.mismatch else macrolanguage(known.label) for known in model.codes]
    for place, row in enumerate(rows.tolist()):  # few texts are in languages with relatives, and have few guesses
        own = macros[numbers[row]]
        found = range(every.offsets[place], every.offsets[place + 1])
        total = sum(every.scores[at] for at in found if macros[every.numbers[at]] == own)
        scores[row] = max(scores[row], total)
    return quantised(scores)
