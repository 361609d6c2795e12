"""The network, run by ONNX Runtime: from windows of 100 word numbers to six probabilities."""

import numpy as np
import numpy.typing as npt

from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.toxicity.conversion import EXTRA, INPUT, LABELS, WORDS
from winnow.schemas.errors import RecipeError

_AT_ONCE = 32  # windows

_Floats = npt.NDArray[np.float32]


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
