"""Layers of scores: values at each checkpoint, and the result over all checkpoints and the whole store."""

import pyarrow as pa

SCORES = "score."
TRACES = "trace."
"""How the names of these layers begin."""

STATUS = pa.field("status", pa.string(), nullable=False)

SCORE = pa.schema(
    [
        STATUS,
        pa.field("score", pa.float64()),  # the mean over checkpoints
        pa.field("keep", pa.float64()),  # how likely the row is worth keeping, from 0 to 1
        pa.field("votes", pa.int16()),  # checkpoints that vote for it
        pa.field("checkpoints", pa.int16()),  # that vote at all
        pa.field("rank", pa.float64()),  # highest first: below f the highest share f, above 1 - f the lowest
        pa.field("random", pa.float64()),  # the same of an order by hashes, over the rows that have a score
    ]
)
"""A row of `score.<name>`, a global layer: votes are drawn from the scores of all rows."""


def trace_schema(checkpoints: int) -> pa.Schema:
    """A row of `trace.<name>`: score and loss at each checkpoint, from the earliest on, and the reference's loss.

    Of what is measured without weights (no checkpoints) there is one value.
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
        ]
    )
