"""winnow's own model in the form that all models of languages have."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from winnow.filters.language.identification.heads import heads_of
from winnow.filters.language.identification.model import LanguageModel, Predicted
from winnow.filters.language.identification.own.judging import judge
from winnow.filters.language.identification.own.network import Network, network
from winnow.filters.language.identification.scripts import Scripts
from winnow.schemas.languages import UNKNOWN, Label

_MOST_BYTES = 1 << 20


class OwnPredictor:
    """The model of this package."""

    def __init__(self, found: Network) -> None:
        self._network = found
        self._codes = [label.split(" ")[1] for label in found.labels]
        self._unknown = np.array([*(code == UNKNOWN for code in self._codes), True])  # the last: no label

    @property
    def labels(self) -> list[Label]:
        """What its labels stand for; the script is the text's."""
        return [Label(code) for code in self._codes]

    def predict(self, lines: Sequence[bytes], scripts: Scripts, most: int, least: float) -> Predicted:
        """A line in a language that the model does not know has its number 0 and no score."""
        ends = np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)))
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
        buffer = np.frombuffer(b"".join(lines), np.uint8)
        judged = judge(self._network, buffer, starts, ends, scripts, most)
        unknown = self._unknown[judged.labels]
        scores = np.where(unknown, 0.0, judged.scores(self._network))
        kept = (judged.labels >= 0) & (scores >= least)
        kept[:, 0] = scripts.numbers >= 0
        return Predicted(kept.sum(1).astype(np.int32), np.where(unknown, 0, judged.labels + 1)[kept], scores[kept])

    def names(self, lines: Sequence[bytes]) -> list[str]:
        """The code of each line's likeliest language, without its script; empty where it has none."""
        scripts = heads_of(pa.array(lines, pa.large_binary()).cast(pa.large_string()), _MOST_BYTES).scripts
        found = self.predict(lines, scripts, 1, 0.0)
        names = iter([self._codes[label - 1] if label else UNKNOWN for label in found.labels.tolist()])
        return [next(names) if count else "" for count in found.counts.tolist()]


@lru_cache(maxsize=1)
def own_model() -> LanguageModel:
    """The model of this package, read once per process."""
    predictor = OwnPredictor(network())
    return LanguageModel(predictor.labels, predictor)
