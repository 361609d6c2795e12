"""The network, run by ONNX Runtime: from windows of 100 word numbers to six probabilities; and its vocabulary.

As in its Keras tokenizer, texts are lower-cased and split only at `SEPARATORS`, so other white space and
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
from winnow.schemas.assets import Asset, BuiltAsset, made_by
from winnow.schemas.errors import RecipeError

NAME = "toxicity.en"
WEIGHTS = f"{NAME}.weights"
TOKENIZER = f"{NAME}.tokenizer"
EXTRA = "toxicity"
INPUT = "windows"
LABELS = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
SEPARATORS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n '
"""The characters that separate words: the tokenizer's own and the space."""

WORDS = 20_000  # word numbers; 0 is padding
TOKENS = 100  # of a window

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


MODEL = BuiltAsset(
    name=NAME,
    summary="toxicity of English comments, the Jigsaw BiLSTM: six probabilities",
    of=(
        Asset(
            name=WEIGHTS,
            summary="its weights, as Keras writes them",
            registry="pip",
            package="toxic-comment-classifier==0.3.0",
            member="toxic_classifier/model/model.weights.h5",
            size_bytes=4_588_880,
            sha256="03ed4c3f52be909821a8c3263de2dcd65b95908bfae6f569c9a9cec90538a4b3",
            licence="MIT",
        ),
        Asset(
            name=TOKENIZER,
            summary="its tokenizer, as Keras pickles them",
            registry="pip",
            package="toxic-comment-classifier==0.3.0",
            member="toxic_classifier/model/tokenizer.pickle",
            size_bytes=9_551_186,
            sha256="d8e998211d68c5264b84c6eb6753f08897194038e0345e91a592f97cd38c125c",
            licence="MIT",
        ),
    ),
    make=made_by("winnow.filters.models.conversion.toxicity"),
    maker_id="winnow.filters.toxicity.made:make",
    version=2,
    file="toxicity-en.onnx",
    licence="MIT",
    extra=EXTRA,
)
