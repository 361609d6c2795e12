"""Map texts to the numbers of the words that the network knows, as its Keras tokenizer does.

Texts are lower-cased and split only at `conversion.SEPARATORS`, so other white space and quotation marks are part of
words. Words without a number are skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.lookup import find, strings_block
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.models.toxicity.conversion import SEPARATORS
from winnow.schemas.kernels import kernel


@dataclass(frozen=True, slots=True)
class Numbered:
    """The known words of some texts: text i has the numbers `bounds[i]` to `bounds[i + 1]`."""

    bounds: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint16]
    words: npt.NDArray[np.int64]  # of each text, whether known or not


class Vocabulary:
    """The words that the network knows; the number of the first is 1."""

    def __init__(self, words: Sequence[str]) -> None:
        self._ints, octets = strings_block(words, 0, 0)
        self._octets = np.frombuffer(octets, np.uint8)
        self._separators = np.zeros(256, np.bool_)
        self._separators[np.frombuffer(SEPARATORS.encode(), np.uint8)] = True

    def numbered(self, texts: Sequence[str]) -> Numbered:
        """The numbers of the known words of each text, in order."""
        found = texts_of(pa.array([text.lower() for text in texts], pa.large_string()))
        size = int(found.offsets[-1] - found.offsets[0])
        bounds = np.zeros(len(texts) + 1, np.int64)
        words = np.zeros(len(texts), np.int64)
        numbers = np.empty((size + len(texts)) // 2 + 1, np.uint16)  # a word and its separator
        _number(found.buffer, found.offsets, self._separators, self._ints, self._octets, bounds, words, numbers)
        return Numbered(bounds, numbers[: bounds[-1]], words)


@kernel
def _number(buffer, offsets, separators, ints, octets, bounds, words, numbers):  # type: ignore[no-untyped-def]
    count = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        while at < end:
            if separators[buffer[at]]:
                at += 1
                continue
            start = at
            while at < end and not separators[buffer[at]]:
                at += 1
            words[text] += 1
            number = find(ints, octets, 0, buffer, start, at)
            if number >= 0:
                numbers[count] = number + 1
                count += 1
        bounds[text + 1] = count
