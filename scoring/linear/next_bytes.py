"""A log-linear model of the next byte: one row of weights per context, summed, and a softmax over 256 bytes.

The contexts of a position are the 1, 2, … bytes before it, each hashed to a row, as in fastText's and Vowpal Wabbit's
linear models. The loss of a text is the mean over its positions, and as the model is linear up to the softmax, its
score is a similar sum: -Σ (p - y)·(sum of the direction's rows) / (positions · |v|).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.linear.byte_kernels import BYTES, measure
from winnow.scoring.linear.parameters import Shapes
from winnow.scoring.linear.windows import Windows
from winnow.scoring.mimic.direction import chosen_parameters, direction
from winnow.scoring.protocol import Floats, Scored, Weights

WEIGHT, BIAS = "weight", "bias"
NAMES = (WEIGHT, BIAS)


def byte_shapes(buckets: int) -> Shapes:
    """The parameters of a model."""
    return {WEIGHT: (buckets, BYTES), BIAS: (BYTES,)}


def initial_bytes(buckets: int) -> Weights:
    """Untrained weights: all bytes are equally likely."""
    return {name: np.zeros(shape, np.float32) for name, shape in byte_shapes(buckets).items()}


class ByteScorer:
    """Scores texts at given weights in the direction of others."""

    def __init__(
        self, at: Weights, reference: Weights, parameters: Sequence[str] = ("*",), *, cosine: bool = False
    ) -> None:
        names = chosen_parameters(NAMES, parameters)
        self._norm, self._cosine = direction(at, reference, names).norm, cosine
        self._at, self._reference = single(at), single(reference)
        self._counts = WEIGHT in names, BIAS in names

    def __call__(self, windows: Windows) -> Scored:
        """The loss and score of each text."""
        losses, gains, squares = _measured(self._at, self._reference, windows, self._counts, self._cosine)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = gains / (self._norm * np.sqrt(squares)) if self._cosine else gains / self._norm
        said = np.isfinite(losses)
        return Scored(np.where(said, losses, np.nan), np.where(said & np.isfinite(scores), scores, np.nan))


def byte_losses(weights: Weights, windows: Windows) -> Floats:
    """The mean loss of each text's bytes, in nats."""
    losses = _measured(single(weights), NO_WEIGHTS, windows, (False, False), False)[0]
    found: Floats = np.where(np.isfinite(losses), losses, np.nan)
    return found


def single(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Weights in the precision of byte models."""
    return {name: np.ascontiguousarray(weights[name], np.float32) for name in NAMES}


NO_WEIGHTS: Weights = {WEIGHT: np.zeros((0, BYTES), np.float32), BIAS: np.zeros(0, np.float32)}
"""Stands for no direction."""


def _measured(
    at: Weights, towards: Weights, windows: Windows, counts: tuple[bool, bool], norms: bool
) -> tuple[Floats, Floats, Floats]:
    most = int(np.diff(windows.offsets).max(initial=1))  # a text's windows, which make room for the next one's
    hits, residuals = np.empty((most, windows.content.shape[1] - 1), np.int64), np.empty((most, BYTES), np.float32)
    losses, gains, squares = np.zeros((3, len(windows)))
    measure(
        windows.content, windows.offsets, at[WEIGHT], at[BIAS], towards[WEIGHT], towards[BIAS], *counts, norms, False,
        hits, residuals, losses, gains, squares,
    )  # fmt: skip
    return losses, gains, squares
