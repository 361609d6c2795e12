"""Train the layers of a head over vectors: a linear one, or one with a hidden layer, by AdamW.

The same examples in the same order give the same weights on the same machine. Inputs are standardised while training,
and the scaling is folded into the first layer afterwards.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.heads.curves import Answer
from winnow.filters.models.linear_layers import Layer
from winnow.schemas.identity import seeded_hash

Real = NDArray[np.float32]

LEAST_STEPS: Final = 500
"""With few examples, there are more epochs than asked for."""
_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The shape of a head and how it is trained."""

    answer: Answer
    hidden: int  # numbers between the two layers; 0: one layer
    epochs: int
    learning_rate: float
    seed: int
    batch: int = 256
    weight_decay: float = 0.01  # PyTorch's default of AdamW


@dataclass(frozen=True, slots=True)
class VectorsWithLabels:
    """Vectors, one a row, and the label of each."""

    vectors: Real
    labels: Real


def train_network(training: VectorsWithLabels, checking: VectorsWithLabels, settings: NetworkSettings) -> list[Layer]:
    """The layers after the epoch whose loss on `checking` is lowest."""
    network = _Network(training, settings)
    rows = len(training.labels)
    steps = math.ceil(rows / settings.batch)
    draw = np.random.default_rng(seeded_hash(settings.seed, "head epochs", b""))
    best, kept = math.inf, network.layers()
    for _ in range(max(settings.epochs, math.ceil(LEAST_STEPS / steps))):
        order = draw.permutation(rows)
        for begin in range(0, rows, settings.batch):
            which = order[begin : begin + settings.batch]
            network.advance(training.vectors[which], training.labels[which])
        if (loss := network.loss(checking)) < best:
            best, kept = loss, network.layers()
    return kept


class _Network:
    """The weights, and AdamW's state."""

    def __init__(self, training: VectorsWithLabels, settings: NetworkSettings) -> None:
        self._settings, self._steps = settings, 0
        self._middle = training.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        spread = training.vectors.std(axis=0, dtype=np.float64)
        self._scale = (1 / np.maximum(spread, _LEAST_SPREAD)).astype(np.float32)
        draw = np.random.default_rng(seeded_hash(settings.seed, "head weights", b""))
        widths = [training.vectors.shape[1], *((settings.hidden,) if settings.hidden else ()), 1]
        shapes = list(zip(widths[1:], widths[:-1], strict=True))
        self._weights = [draw.normal(0, math.sqrt(2 / shape[1]), shape).astype(np.float32) for shape in shapes]
        self._weights[-1] *= 0  # so that training begins at the mean of the labels
        self._biases = [np.zeros(shape[0], np.float32) for shape in shapes]
        mean = float(training.labels.mean())
        if settings.answer == "probability":
            mean = math.log(max(mean, 1e-6) / max(1 - mean, 1e-6))
        self._biases[-1][0] = mean
        self._moments = [np.zeros_like(one) for one in (*self._all(), *self._all())]

    def advance(self, vectors: Real, labels: Real) -> None:
        """Take one step."""
        inputs = [(vectors - self._middle) * self._scale]
        for weights, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            inputs.append(np.maximum(inputs[-1] @ weights.T + bias, 0))
        errors = (self._residuals(inputs[-1] @ self._weights[-1].T + self._biases[-1], labels) / len(labels))[:, None]
        slopes: list[Real] = []
        for at in reversed(range(len(self._weights))):
            slopes = [errors.T @ inputs[at], errors.sum(axis=0), *slopes]
            if at:
                errors = (errors @ self._weights[at]) * (inputs[at] > 0)
        self._move(slopes)

    def loss(self, examples: VectorsWithLabels) -> float:
        """The mean loss of examples."""
        found = (examples.vectors - self._middle) * self._scale
        for weights, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            found = np.maximum(found @ weights.T + bias, 0)
        made = (found @ self._weights[-1].T + self._biases[-1])[:, 0].astype(np.float64)
        if self._settings.answer == "grade":
            return float(np.square(made - examples.labels).mean())
        return float((np.logaddexp(0, made) - made * examples.labels).mean())

    def layers(self) -> list[Layer]:
        """The layers for vectors that are not standardised, as a file holds them."""
        weights, biases = ([one.astype(np.float64) for one in some] for some in (self._weights, self._biases))
        weights[0] = weights[0] * self._scale
        biases[0] = biases[0] - weights[0] @ self._middle
        rounded = ([one.astype(np.float32).astype(np.float64) for one in some] for some in (weights, biases))
        return list(zip(*rounded, strict=True))

    def _residuals(self, made: Real, labels: Real) -> Real:
        """The gradient of each example's loss by the head's number."""
        likely = made[:, 0]
        if self._settings.answer == "probability":
            likely = (1 / (1 + np.exp(-np.clip(likely, -60, 60)))).astype(np.float32)
        return likely - labels

    def _all(self) -> list[Real]:
        return [one for pair in zip(self._weights, self._biases, strict=True) for one in pair]

    def _move(self, slopes: list[Real]) -> None:
        self._steps += 1
        settings, values = self._settings, self._all()
        first, second = (1 - beta**self._steps for beta in _BETAS)
        for at, (value, slope) in enumerate(zip(values, slopes, strict=True)):
            mean, square = self._moments[at], self._moments[at + len(values)]
            mean += (1 - _BETAS[0]) * (slope - mean)
            square += (1 - _BETAS[1]) * (slope * slope - square)
            if value.ndim == 2:
                value *= 1 - settings.learning_rate * settings.weight_decay
            value -= settings.learning_rate / first * mean / (np.sqrt(square / second) + _EPSILON)
