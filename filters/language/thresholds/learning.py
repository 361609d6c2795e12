"""From which score on a model's language is to be believed: learnt by language from texts whose language is known.

A language's threshold is the score with the largest F-beta on these texts. A beta of 0.1, as in FinePDFs (Kydlíček et
al. 2025), weighs what is kept in the wrong language a hundred times what is lost; so a threshold may not lose more than
a tenth of what is found, or few wrong labels among the texts would cost a language most of its own. Which languages a
model takes for each other, such as Bokmål and Nynorsk, is counted on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.language.thresholds.learning_config import LearningConfig

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Learnt:
    """A language's threshold, and what it does to the texts that it was learnt from."""

    code: str  # deu_Latn
    score: float  # texts with at least this are kept
    texts: int  # in the language
    precision: float  # of the texts that are kept as this language
    recall: float
    found: float  # recall without a threshold


@dataclass(frozen=True, slots=True)
class Judged:
    """Texts whose language is known, and what a model says of them; languages are numbers into `codes`."""

    codes: Sequence[str]
    wanted: Numbers
    said: Numbers  # -1 where the model names none
    scores: npt.NDArray[np.float64]


def learn(judged: Judged, config: LearningConfig) -> list[Learnt]:
    """The threshold of each language with enough texts, by code."""
    texts = np.bincount(judged.wanted, minlength=len(judged.codes))
    learnt = []
    for number in np.flatnonzero(texts >= config.least_texts).tolist():
        rows = np.flatnonzero(judged.said == number)
        best = _best(judged.scores[rows], judged.wanted[rows] == number, int(texts[number]), config)
        learnt.append(Learnt(judged.codes[number], best[0], int(texts[number]), *best[1:]))
    return sorted(learnt, key=lambda one: one.code)


def _best(
    scores: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], texts: int, config: LearningConfig
) -> tuple[float, float, float, float]:
    """The threshold with the largest F-beta, the lowest of equal ones; its precision and recall, and recall without."""
    if not right.any():
        return config.most, 0.0, 0.0, 0.0
    order = np.argsort(-scores, kind="stable")
    scores, hits, taken = scores[order], np.cumsum(right[order]), np.arange(1, len(order) + 1)
    precision, recall, square = hits / taken, hits / texts, config.beta**2
    value = (1 + square) * precision * recall / np.maximum(square * precision + recall, 1e-12)
    value[:-1][scores[1:] == scores[:-1]] = -1.0  # equal scores stand or fall together
    value[recall < config.least_kept * recall[-1]] = -1.0
    best = len(value) - 1 - int(np.argmax(value[::-1]))
    threshold = min(max(float(scores[best]), config.least), config.most)
    kept = int((scores >= threshold).sum())
    reached = (float(precision[kept - 1]), float(recall[kept - 1])) if kept else (0.0, 0.0)
    return threshold, *reached, float(recall[-1])


def confused(judged: Judged, config: LearningConfig) -> dict[str, dict[str, float]]:
    """For each language those that many of its texts are taken for, the most first, with the texts' share."""
    count = len(judged.codes)
    texts = np.bincount(judged.wanted, minlength=count)
    named = judged.said >= 0
    keys, sizes = np.unique(judged.wanted[named] * count + judged.said[named], return_counts=True)
    found: dict[str, dict[str, float]] = {}
    for key, size in sorted(zip(keys.tolist(), sizes.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])):
        one, other = divmod(key, count)
        notable = size > 1 and texts[one] >= config.least_texts and size >= config.confused_share * texts[one]
        if one != other and notable:
            found.setdefault(judged.codes[one], {})[judged.codes[other]] = size / int(texts[one])
    return found
