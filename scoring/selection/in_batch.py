"""The paper's in-batch weights: batches formed from ids, softmax(m / τ) over each, and which rows exceed 1/b."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.recipe.score import RelativeTemperature, Temperature
from winnow.scoring.selection.ranks import BATCHES, Floats, Ids, Integers, hashed

LEAST_BATCH: Final = 2
"""A softmax over a single row is meaningless."""


def batches_of(ids: Ids, batch: int, seed: int = 0) -> Integers:
    """The batch number of each row: rows in the order of their ids' hashes, cut into batches of equal size.

    The last batch may be smaller; a single row that is left over joins the batch before it.

    Args:
        ids: The ids of the rows.
        batch: The number of rows per batch; at least 2.
        seed: The seed of the order.
    """
    if batch < LEAST_BATCH:
        raise ValueError(f"batches of {batch}: expected {LEAST_BATCH} or more")
    rows = len(ids[0])
    found = np.empty(rows, np.int64)
    found[hashed(ids, seed, BATCHES)] = batch_numbers(np.arange(rows), np.full(rows, rows), batch)
    return found


def batch_numbers(places: Integers, rows: Integers, batch: int) -> Integers:
    """The batch number of rows at these places, among so many rows in all."""
    alone = (places == rows - 1) & (rows > batch) & (rows % batch == 1)
    found: Integers = places // batch - alone
    return found


def members(batches: Integers) -> list[Integers]:
    """The row numbers of all batches, as one array (batches × rows) per size; negative batch numbers are ignored."""
    rows = np.flatnonzero(batches >= 0)
    rows = rows[np.argsort(batches[rows], kind="stable")]
    if not len(rows):
        return []
    number = batches[rows]
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    sizes = np.diff(np.append(first, len(rows)))
    # Not hot: one iteration per size, and n rows have fewer than sqrt(2n) sizes.
    return [rows[first[sizes == size][:, np.newaxis] + np.arange(size)] for size in np.unique(sizes).tolist()]


def scale_of(scores: Floats, temperature: Temperature) -> Floats:
    """τ of each batch (on the last axis), which divides its scores.

    Args:
        scores: The scores; -inf for none.
        temperature: The same τ for all batches, or one in units of the standard deviation of each batch's scores.
    """
    if not isinstance(temperature, RelativeTemperature):
        return np.full((*scores.shape[:-1], 1), temperature)
    scored = ~np.isneginf(scores)
    count = np.maximum(scored.sum(axis=-1, keepdims=True), 1)
    middle = np.where(scored, scores, 0.0).sum(axis=-1, keepdims=True) / count
    deviation = np.sqrt(np.where(scored, (scores - middle) ** 2, 0.0).sum(axis=-1, keepdims=True) / count)
    return np.where(deviation > 0, temperature.relative * deviation, 1.0)  # equal scores: any τ gives even weights


def above_uniform(scores: Floats, of: list[Integers], temperature: Temperature) -> NDArray[np.int8]:
    """1 where a row's weight is above 1/b, 0 where it is not, -1 where it has none; b counts rows with a score.

    Args:
        scores: The scores at one checkpoint.
        of: The rows of each batch (`members`).
        temperature: τ, or what `scale_of` makes it of.
    """
    found = np.full(len(scores), -1, np.int8)
    for rows, values, ordered, size in _scored(scores, of):
        weight = _exponentials(ordered, ordered, scale_of(ordered, temperature))
        above = weight * size > weight.sum(axis=1, keepdims=True)
        # Weights increase with scores, so rows are compared with the lowest score above 1/b.
        least = np.where(above, ordered, np.inf).min(axis=1, keepdims=True)
        found[rows] = np.where(np.isneginf(values) | (size < LEAST_BATCH), -1, values >= least)
    return found


def _scored(scores: Floats, of: list[Integers]) -> Iterator[tuple[Integers, Floats, Floats, Integers]]:
    """Batches with scores: row numbers, scores (-inf if missing), sorted scores, and the number of scores."""
    for rows in of:
        values = scores[rows]
        values[~np.isfinite(values)] = -np.inf
        ordered = np.sort(values, axis=1)  # sums run over sorted scores, so that the order of rows does not matter
        size = (~np.isneginf(ordered)).sum(axis=1, keepdims=True)
        some = size[:, 0] > 0
        yield rows[some], values[some], ordered[some], size[some]


def _exponentials(values: Floats, ordered: Floats, scale: Floats) -> Floats:
    """exp((m - maximum of the batch) / τ)."""
    with np.errstate(over="ignore"):  # for scores so far apart that the lower one has no weight
        found: Floats = np.exp((values - ordered[:, -1:]) / scale)
    return found
