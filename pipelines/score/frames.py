"""Scores videos by some of their frames, in passes: the first pass sees each row's first frame, the next its second …

A row with fewer frames shows them again, so that every pass has the same rows and batches; only a frame's first showing
counts. A row that is a picture has one frame.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.recipe.score import VideoFrames
from winnow.scoring.protocol import OK

__all__ = ["of_frames"]


def of_frames(
    passes: Sequence[pa.RecordBatch], counts: NDArray[np.int64], scores: int, take: VideoFrames
) -> pa.RecordBatch:
    """The trace of some rows from its passes.

    Args:
        passes: The rows' trace of each pass; a status, then the scores, then the losses.
        counts: How many frames each row has; 0 for one without a picture.
        scores: The number of columns of scores.
        take: Whether a row's values are the means over its frames, or those of its worst: of the lowest score.

    Returns:
        The rows; those with a frame that has no value have none, with the status of the first such frame.
    """
    if len(passes) == 1:
        return passes[0]
    rows = np.arange(len(counts))
    shown = np.arange(len(passes))[:, None] < np.maximum(counts, 1)  # passes × rows
    statuses = np.array([one.column(0).to_pylist() for one in passes], object).reshape(shown.shape)
    bad = shown & (statuses != OK)
    first_bad = np.argmax(bad, axis=0)
    status = np.where(bad.any(axis=0), statuses[first_bad, rows], OK)
    columns = [np.asarray([_floats(one.column(place)) for one in passes]) for place in range(1, passes[0].num_columns)]
    if take.take == "mean":
        values = [np.where(shown, column, 0).sum(axis=0) / shown.sum(axis=0) for column in columns]
    else:
        means = np.where(shown & ~bad, np.sum(columns[:scores], axis=0) / scores, np.inf)
        worst = np.argmin(means, axis=0)
        values = [column[worst, rows] for column in columns]
    absent = status != OK
    arrays = [pa.array(status, pa.string()), *(pa.array(one, pa.float64(), mask=absent) for one in values)]
    return pa.RecordBatch.from_arrays(arrays, schema=passes[0].schema)


def _floats(column: pa.Array) -> NDArray[np.float64]:
    found: NDArray[np.float64] = column.to_numpy(zero_copy_only=False)  # NaN where null
    return found
