"""How likely it is that the best label is right: a logistic regression over the network's scores and the text's shape.

The probability of a softmax says how the labels compare, not whether any of them fits: a text in a language that the
model does not know, or in none, gets a high one as well. Learnt from texts that the network did not learn from, from
languages that it does not know, and from noise.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_ODDS = 12.0
COLUMNS = (
    "odds", "fit", "size", "known", "odds of size", "fit of size", "known of size",
    "letters", "signs", "flips", "repeats", "rare", "few letters", "many signs", "own script", "one",
)  # fmt: skip


class Measured(NamedTuple):
    """What is measured of texts."""

    best: Floats  # the probability of the best label among those of the script
    fit: Floats  # the best label's score, less what texts of it usually have
    ngrams: npt.NDArray[np.int32]  # all and known
    shapes: Floats
    own_script: Floats  # share of the letters


def features(measured: Measured) -> Floats:
    """The columns of the regression."""
    odds = np.clip(np.log(measured.best + 1e-9) - np.log(1 - measured.best + 1e-9), -MOST_ODDS, MOST_ODDS)
    size = np.log1p(np.minimum(measured.ngrams[:, 1], 3_000))
    known = measured.ngrams[:, 1] / np.maximum(measured.ngrams[:, 0], 1)
    letters, signs, flips, repeats, rare = measured.shapes.T
    columns = (
        odds, measured.fit, size, known, odds * size, measured.fit * size, known * size,
        letters, signs, np.sqrt(flips), repeats, np.sqrt(rare), np.maximum(0.6 - letters, 0), np.sqrt(signs),
        measured.own_script, np.ones(len(odds)),
    )  # fmt: skip
    return np.stack(columns, axis=1)


def sureness(measured: Measured, weights: Floats) -> Floats:
    """The probability that each text's best label is right."""
    sums = (features(measured) * weights).sum(1)
    return np.asarray(1 / (1 + np.exp(-np.clip(sums, -40, 40))))
