"""Makes the file of weights small: whole numbers, and for each pair of a vector's numbers one of 256."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.vq import kmeans2

from winnow.filters.language.identification.own.network import SCALE_STEPS

Weights = npt.NDArray[np.float32]

_CODES = 256
_LARGEST_PAIR = 127
_LARGEST_SCALE = 4  # octaves above a pair's own numbers
_LARGEST_OUTPUT = 32_767
_ROUNDS = 25


def quantised_rows(rows: Weights, seed: int) -> tuple[dict[str, Any], Weights, float]:
    """The arrays of the vectors of n-grams, the vectors that these stand for, and what one unit of them counts."""
    norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-6)
    steps = np.rint(np.log2(norms) * SCALE_STEPS)
    unit_rows = rows / (2.0 ** (steps / SCALE_STEPS))[:, np.newaxis]
    places = unit_rows.reshape(len(rows), -1, 2)
    largest = float(np.abs(places).max())
    pairs = np.empty((places.shape[1], _CODES, 2), np.int8)
    codes = np.empty((len(rows), places.shape[1]), np.uint8)
    for place in range(places.shape[1]):
        centres, near = kmeans2(places[:, place].astype(np.float64), _CODES, _ROUNDS, minit="points", rng=seed)
        pairs[place] = np.rint(centres * (_LARGEST_PAIR / largest))
        codes[:, place] = near
    shift = _LARGEST_SCALE * SCALE_STEPS - steps.max()
    scales = np.clip(steps + shift, -128, 127).astype(np.int8)
    found = np.concatenate([pairs[place][codes[:, place]] for place in range(len(pairs))], axis=1).astype(np.float64)
    whole = np.rint(found * 2.0 ** (scales.astype(np.float64) / SCALE_STEPS)[:, np.newaxis])
    unit = largest / _LARGEST_PAIR / 2.0 ** (shift / SCALE_STEPS)
    return {"pairs": pairs, "codes": codes, "scales": scales}, (whole * unit).astype(np.float32), unit


def quantised_outputs(outputs: Weights) -> tuple[npt.NDArray[np.int16], float]:
    """The vectors of labels as whole numbers, and what one unit of them counts."""
    unit = float(np.abs(outputs).max()) / _LARGEST_OUTPUT
    return np.rint(outputs / unit).astype(np.int16), unit


def stepped(hashes: npt.NDArray[np.uint32]) -> dict[str, Any]:
    """The arrays of ascending hashes."""
    before = np.concatenate([np.zeros(1, np.int64), hashes[:-1].astype(np.int64)])
    steps = hashes.astype(np.int64) - before
    return {"hash_steps_low": (steps & 0xFFFF).astype(np.uint16), "hash_steps_high": (steps >> 16).astype(np.uint16)}
