"""The network, run by ONNX Runtime: from windows of 100 word numbers to six probabilities; and its vocabulary.

As in its Keras tokenizer, texts are lower-cased and split only at `conversion.SEPARATORS`, so other white space and
quotation marks are part of words. Words without a number are skipped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.toxicity.conversion import EXTRA, INPUT, LABELS, SEPARATORS, WORDS
from winnow.schemas.errors import RecipeError

_AT_ONCE = 32  # windows
_Floats = npt.NDArray[np.float32]
_BETWEEN = f"[{re.escape(SEPARATORS)}]+"
_PIECES = re.compile(rf"(?s).{{1,16384}}[^{re.escape(SEPARATORS)}]*")  # up to the end of a word
_PIECES_AT_ONCE = 256  # many are split and looked up at once, few are held in memory


@dataclass(frozen=True, slots=True)
class KnownWords:
    """The known words of some texts: text i has the numbers `bounds[i]` to `bounds[i + 1]`."""

    bounds: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint16]
    words: npt.NDArray[np.int64]  # of each text, whether known or not


class Vocabulary:
    """The words that the network knows; the number of the first is 1."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = pa.array(words, pa.large_string())

    def numbered(self, texts: Sequence[str]) -> KnownWords:
        """The numbers of the known words of each text, in order."""
        lowered = (text.lower() for text in texts)  # whole: a sigma is lowered by what is behind it
        pieces = ((row, piece[0]) for row, text in enumerate(lowered) for piece in _PIECES.finditer(text))
        known, words = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        numbers = [np.zeros(0, np.uint16)]
        while group := list(islice(pieces, _PIECES_AT_ONCE)):
            rows, some = zip(*group, strict=True)
            split = pc.split_pattern_regex(pa.array(some, pa.large_string()), _BETWEEN)
            found = pc.index_in(split.flatten(), self._words)
            for counts, one in ((known, found.is_valid()), (words, pc.not_equal(split.flatten(), ""))):
                before = np.concatenate([[0], np.cumsum(one.to_numpy(zero_copy_only=False))])
                np.add.at(counts, np.array(rows), np.diff(before[split.offsets.to_numpy()]))
            numbers.append(found.drop_null().to_numpy().astype(np.uint16) + np.uint16(1))
        return KnownWords(np.concatenate([[0], np.cumsum(known)]), np.concatenate(numbers), words)


class Network:
    """The published weights, ready to score."""

    def __init__(self, path: str) -> None:
        self._session = open_session("text.toxicity", EXTRA, path)
        self.words: list[str] = self._session.get_modelmeta().custom_metadata_map.get("words", "").split("\n")
        if len(set(self.words)) != WORDS - 1 or "" in self.words:
            raise RecipeError(f"{path}: {len(set(self.words)):,} words; expected {WORDS - 1:,}; fetch it again")

    def score(self, windows: npt.NDArray[np.int64]) -> _Floats:
        """The six probabilities of each window.

        Args:
            windows: Rows of `TOKENS` word numbers; those with fewer words begin with zeros.
        """
        scores = np.empty((len(windows), len(LABELS)), np.float32)
        for first in range(0, len(windows), _AT_ONCE):
            (scores[first : first + _AT_ONCE],) = self._session.run(None, {INPUT: windows[first : first + _AT_ONCE]})
        return scores
