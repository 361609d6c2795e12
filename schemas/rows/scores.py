"""Layers of scores: values at each checkpoint, and the result over all checkpoints and the whole store."""

from collections.abc import Sequence

import pyarrow as pa

SCORES = "score."
TRACES = "trace."
"""The prefixes of these layers."""

STATUS = pa.field("status", pa.string(), nullable=False)

SCORE = pa.schema(
    [
        STATUS,
        pa.field("score", pa.float64()),  # the mean over checkpoints
        pa.field("keep", pa.float64()),  # probability that the row is worth keeping
        pa.field("votes", pa.int16()),  # checkpoints that vote to keep it
        pa.field("checkpoints", pa.int16()),  # checkpoints that vote
        pa.field("rank", pa.float64()),  # by score, highest first: ranks below f are the highest share f
        pa.field("random", pa.float64()),  # the rank in a random order of the scored rows
        # Measures side by side, whichever the filter uses; null where the task has none.
        pa.field("mimic", pa.float64()),  # the mean Mimic score over checkpoints
        pa.field("rho", pa.float64()),  # the mean loss over checkpoints, less the reference's
        pa.field("loss", pa.float64()),  # the reference's loss; low is good
        pa.field("alignment", pa.float64()),  # the cosine of picture and caption under the reference
    ]
)
"""A row of `score.<name>`, a global layer: votes depend on the scores of all rows."""


def score_schema(beside: Sequence[str] = ()) -> pa.Schema:
    """A row of `score.<name>` with measures on request: the mean of each over checkpoints."""
    return pa.schema([*SCORE, *(pa.field(name, pa.float64()) for name in beside)])


def trace_schema(checkpoints: int, *, aligned: bool = False, beside: Sequence[str] = ()) -> pa.Schema:
    """A row of `trace.<name>`: score and loss at each checkpoint, the earliest first, and the reference's loss and, if
    `aligned`, its alignment; then the measures of `beside` at each checkpoint.

    Tasks without weights (no checkpoints) have a single value.
    """
    numbers = range(1, checkpoints + 1)
    if not checkpoints:
        return pa.schema([STATUS, pa.field("m1", pa.float64())])
    return pa.schema(
        [
            STATUS,
            *(pa.field(f"m{number}", pa.float64()) for number in numbers),
            *(pa.field(f"loss{number}", pa.float64()) for number in numbers),
            pa.field("reference_loss", pa.float64()),
            *([pa.field("alignment", pa.float64())] if aligned else []),
            *(pa.field(f"{name}{number}", pa.float64()) for name in beside for number in numbers),
        ]
    )
