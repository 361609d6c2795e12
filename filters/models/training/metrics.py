"""How well scores separate two kinds of texts: precision and recall at thresholds, and AUC."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import Json

THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The result of keeping texts with at least this score. Ratios of nothing are None."""

    threshold: float
    kept: int
    precision: float | None  # share of kept texts that are positive
    recall: float | None  # share of positive texts that are kept
    f1: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics of scores on labelled texts."""

    positives: int
    negatives: int
    auc: float | None  # probability that a positive text scores above a negative one; ties count half
    at: tuple[AtThreshold, ...]

    def to_json(self) -> Json:
        """The form on a model's card."""
        return {
            "positives": self.positives,
            "negatives": self.negatives,
            "auc": self.auc,
            "at": [
                {"threshold": row.threshold, "kept": row.kept}
                | {"precision": row.precision, "recall": row.recall, "f1": row.f1}
                for row in self.at
            ],
        }


def evaluate_scores(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], thresholds: Sequence[float] = THRESHOLDS
) -> Evaluation:
    """Evaluate scores against the true labels.

    Example:
        >>> evaluate_scores(np.array([0.9, 0.6, 0.2]), np.array([True, False, False]), [0.5]).at[0].precision
        0.5
    """
    positives = int(truth.sum())
    negatives = len(truth) - positives
    rows = []
    for threshold in thresholds:
        kept = scores >= threshold
        right, count = int((kept & truth).sum()), int(kept.sum())
        f1 = _ratio(2 * right, count + positives)
        rows.append(AtThreshold(threshold, count, _ratio(right, count), _ratio(right, positives), f1))
    return Evaluation(positives, negatives, _auc(scores, truth), tuple(rows))


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _auc(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float | None:
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    twice_ranks = 2 * np.cumsum(counts) - counts + 1  # twice the mean rank of each value: a whole number
    twice_sum = int(twice_ranks[place[truth]].sum())
    return round((twice_sum - positives * (positives + 1)) / (2 * positives * negatives), 6)


@dataclass(frozen=True, slots=True)
class GradeErrors:
    """How far predicted grades are from the true ones."""

    r2: float | None  # 1 less the squared errors' share of the labels' variance; None if all labels are equal
    error: float  # the mean distance


def grade_errors(grades: NDArray[np.float64], truth: NDArray[np.float64]) -> GradeErrors:
    """Compare predicted grades with the true ones.

    Example:
        >>> grade_errors(np.array([0.0, 4.0]), np.array([0.0, 5.0]))
        GradeErrors(r2=0.92, error=0.5)
    """
    spread = float(np.square(truth - truth.mean()).sum())
    r2 = round(1 - float(np.square(grades - truth).sum()) / spread, 6) if spread else None
    return GradeErrors(r2, round(float(np.abs(grades - truth).mean()), 6))
