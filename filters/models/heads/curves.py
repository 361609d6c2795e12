"""Calibration: curves that turn a head's score into a probability or a grade, by language.

A language with many labels has its own isotonic curve (pool adjacent violators), one with fewer a curve of two
parameters (Platt's sigmoid, or a line for grades), and one with few shares that of all languages together. Every curve
is stored as points and read by linear interpolation, so that its values do not depend on a library's `exp`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Answer: TypeAlias = Literal["probability", "grade"]

POOLED: Final = ""
"""The name of the curve of all languages together."""
LOWEST_GRADE, HIGHEST_GRADE = 0.0, 5.0  # FineWeb-Edu

OWN_CURVE_FROM: Final = 100
"""A language with fewer labels to calibrate by shares the pooled curve."""
LEAST_OF_A_SIDE: Final = 10  # as does one with fewer wanted, or unwanted, texts among them
ISOTONIC_FROM: Final = 500
_MOST_POINTS = 128
_SIGMOID_POINTS = 65
_NEWTON_STEPS = 50


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising curve: `values` at ascending `scores`, with lines between them, and flat beyond both ends."""

    scores: Floats
    values: Floats

    def __call__(self, scores: Floats) -> Floats:
        """The value at each score."""
        found: Floats = np.interp(scores, self.scores, self.values)
        return found


def calibrated(curves: Mapping[str, Curve], scores: Floats, languages: Sequence[str | None]) -> Floats:
    """Each score's value on its language's curve, or on the pooled one; the score itself if there is no curve."""
    if not curves:
        return scores
    values = curves[POOLED](scores)
    of = np.array([POOLED if one is None else one for one in languages], object)
    for language in sorted(curves.keys() & set(of.tolist()) - {POOLED}):
        rows = of == language
        values[rows] = curves[language](scores[rows])
    return values


def fit_curves(answer: Answer, scores: Floats, labels: Floats, languages: Sequence[str]) -> dict[str, Curve]:
    """The pooled curve, and one for each language with enough labels.

    Args:
        answer: Whether labels are 0 and 1, or grades.
        scores: A head's scores of texts that it was not trained on.
        labels: Their labels.
        languages: Their languages.
    """
    curves = {POOLED: _fitted(answer, scores, labels)}
    names = np.array(languages)
    for language in np.unique(names).tolist():
        own = names == language
        sides = np.unique(labels[own], return_counts=True)[1] if answer == "probability" else np.array([own.sum()] * 2)
        if own.sum() >= OWN_CURVE_FROM and len(sides) == 2 and sides.min() >= LEAST_OF_A_SIDE:
            curves[language] = _fitted(answer, scores[own], labels[own])
    return curves


def _fitted(answer: Answer, scores: Floats, labels: Floats) -> Curve:
    if len(scores) >= ISOTONIC_FROM:
        return isotonic(scores, labels)
    return sigmoid(scores, labels) if answer == "probability" else line(scores, labels)


def isotonic(scores: Floats, labels: Floats) -> Curve:
    """The rising step function of least squares, with lines between the middles of its steps: ties would be many.

    Example:
        >>> isotonic(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0, 1.0])).values
        array([0. , 0.5, 1. ])
    """
    order = np.lexsort((labels, scores))  # sums do not depend on the order of the texts
    _, begins, sizes = np.unique(scores[order], return_index=True, return_counts=True)
    groups = (np.add.reduceat(scores[order], begins), np.add.reduceat(labels[order], begins), sizes)
    steps: list[tuple[float, float, int]] = []  # sums of scores and labels, and how many
    for score, label, count in zip(*(one.tolist() for one in groups), strict=True):  # once a training
        while steps and steps[-1][1] * count >= label * steps[-1][2]:
            score, label, count = (a + b for a, b in zip(steps.pop(), (score, label, count), strict=True))
        steps.append((score, label, count))
    if len(steps) > _MOST_POINTS:
        steps = [steps[at] for at in np.linspace(0, len(steps) - 1, _MOST_POINTS).round().astype(int)]
    counts = np.array([count for _, _, count in steps], np.float64)
    return Curve(np.array([one[0] for one in steps]) / counts, np.array([one[1] for one in steps]) / counts)


def sigmoid(scores: Floats, labels: Floats) -> Curve:
    """Platt's curve 1 / (1 + exp(-(a·score + b))), by Newton's method on his smoothed labels."""
    wanted = labels.sum()
    smooth = np.where(labels > 0, (wanted + 1) / (wanted + 2), 1 / (len(labels) - wanted + 2))
    middle, spread = scores.mean(), max(scores.std(), 1e-12)
    inputs = np.stack([(scores - middle) / spread, np.ones(len(scores))])
    found = np.zeros(2)
    for _ in range(_NEWTON_STEPS):
        likely = _logistic(found @ inputs)
        slope = inputs @ (likely - smooth) + np.array([1e-6, 0]) * found
        curvature = (inputs * (likely * (1 - likely))) @ inputs.T + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, slope)
        found -= np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    at = np.linspace(-4, 4, _SIGMOID_POINTS)  # deviations; the curve is flat beyond
    return Curve(at * spread + middle, _logistic(max(found[0], 0) * at + found[1]))


def line(scores: Floats, labels: Floats) -> Curve:
    """The line of least squares, within the grades there are; flat if it would fall."""
    middle, height = scores.mean(), labels.mean()
    apart = scores - middle
    slope = float((apart * (labels - height)).sum() / max((apart**2).sum(), 1e-12))
    if slope <= 1e-9:
        return Curve(np.array([middle]), np.array([height]))
    values = np.array([LOWEST_GRADE, HIGHEST_GRADE])
    return Curve((values - height) / slope + middle, values)


def _logistic(values: Floats) -> Floats:
    likely: Floats = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return likely
