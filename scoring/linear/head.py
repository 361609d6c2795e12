"""A softmax head, its losses and its Mimic scores in closed form.

The gradient of a sample's loss by the head's weights is (p - y) hᵀ, so that along the direction V its score is
-(p - y)ᵀ V h / |V| (arXiv 2501.06708): products with h, as the losses are. Several heads of one trajectory share that
with the reference: all of W_k h = W_ref h - (W_ref - W_k) h come from one pass over h.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.features import Features, Integers, Real, Sparse, kind_of, products, squared_norms, width_of
from winnow.scoring.linear.parameters import Shapes
from winnow.scoring.linear.schedule import generator
from winnow.scoring.linear.softmax import measure, score
from winnow.scoring.mimic.direction import chosen_parameters, direction
from winnow.scoring.protocol import Floats, Scored, Weights

WEIGHT, BIAS = "weight", "bias"
NAMES = (WEIGHT, BIAS)


def head_shapes(classes: int, width: int) -> Shapes:
    """The parameters of a head."""
    return {WEIGHT: (classes, width), BIAS: (classes,)}


def initial_head(classes: int, width: int, seed: int) -> Weights:
    """Untrained weights: uniform within 1 / sqrt(width), as PyTorch's `Linear` has them."""
    draw, most = generator(seed, "head"), 1 / np.sqrt(width)
    return {
        name: draw.uniform(-most, most, shape).astype(np.float32) for name, shape in head_shapes(classes, width).items()
    }


@dataclass(frozen=True, slots=True)
class CountedParameters:
    """Which of a head's parameters count."""

    weight: bool
    bias: bool


def counted(parameters: Sequence[str]) -> CountedParameters:
    """The parameters that globs choose; ScoreError if one matches nothing."""
    names = chosen_parameters(NAMES, parameters)
    return CountedParameters(WEIGHT in names, BIAS in names)


class HeadScorer:
    """Scores samples at several heads in the direction of one reference."""

    def __init__(
        self, heads: Sequence[Weights], reference: Weights, parameters: Sequence[str] = ("*",), *, cosine: bool = False
    ) -> None:
        names = chosen_parameters(NAMES, parameters)
        self._counted, self._cosine = counted(parameters), cosine
        self._norms: Floats = np.array([direction(head, reference, names).norm for head in heads])
        self._heads, self._reference = heads, reference
        self._biases: Floats = np.array([head[BIAS] for head in heads], np.float64)
        self._steps: Floats = np.asarray(reference[BIAS], np.float64) - self._biases
        if not self._counted.bias:
            self._steps = np.zeros_like(self._steps)
        self._stacked: Real | None = None

    def __call__(self, features: Features, labels: Integers) -> tuple[Scored, ...]:
        """Losses and scores of each sample at each head."""
        made = products(features, self._matrix(features))
        squares = squared_norms(features) if self._cosine and self._counted.weight else np.zeros(len(labels))
        losses, scores = np.empty((2, len(self._norms), len(labels)))
        score(
            made, labels, self._biases, self._steps, self._norms, squares,
            self._counted.weight, self._counted.bias, self._cosine, losses, scores,
        )  # fmt: skip
        return tuple(Scored(loss, score) for loss, score in zip(losses, scores, strict=True))

    def _matrix(self, features: Features) -> Real:
        """The reference stacked on the steps towards it, in the best layout for products; cached per kind of
        feature."""
        kind, sparse = kind_of(features), isinstance(features, Sparse)
        found = self._stacked
        if found is None or found.dtype != kind or found.flags.f_contiguous != sparse:
            towards = np.asarray(self._reference[WEIGHT], np.float64)
            stacked = np.concatenate([towards, *(towards - head[WEIGHT] for head in self._heads)])
            found = np.asarray(stacked, kind, order="F" if sparse else "C")
            self._stacked = found
        return found


def head_losses(weights: Weights, features: Features, labels: Integers) -> Floats:
    """The cross-entropy of each sample; NaN where it is not finite."""
    if weights[WEIGHT].shape[1] != width_of(features):
        raise ScoreError(f"features of width {width_of(features)}; expected {weights[WEIGHT].shape[1]}")
    made = products(features, np.asarray(weights[WEIGHT], kind_of(features)))
    losses, squares = np.empty((2, len(labels)))
    measure(made, labels, np.asarray(weights[BIAS], np.float64), losses, squares)
    return losses


def require_labels(labels: Integers, classes: int) -> None:
    """Raise an error for labels without a class."""
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise ScoreError(f"labels from {labels.min()} to {labels.max()}; expected 0 to {classes - 1}")
