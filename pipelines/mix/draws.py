"""Draws as exports use them: the plan, and the rows that it takes from each shard."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.tasks import TaskLine
from winnow.schemas.mixture import MixturePlan

_COPIES = 1 << 18  # at once: a row may be repeated thousands of times


@dataclass(frozen=True, slots=True)
class DrawnShard(TaskLine):
    """A shard with at least one drawn sample."""

    shard: str
    source: str
    draw: str  # the object with its drawn rows for all outputs (`winnow.schemas.rows.draws.DRAW`)
    objects: Mapping[str, str]  # of samples, texts and spans of edits, by layer
    rows: int  # of the shard, drawn or not


@dataclass(frozen=True)
class Draw:
    """The result of a plan, by shards of the store."""

    plan: MixturePlan
    shards: tuple[DrawnShard, ...]


def copies_of(batch: pa.RecordBatch) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16]]]:
    """Yield the copies of drawn rows in batches: for each copy, its row number in the batch and its copy number."""
    first, copies = batch["first"].to_numpy(), batch["copies"].to_numpy().astype(np.int64)
    ends = np.cumsum(copies)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, _COPIES):
        places = np.arange(start, min(start + _COPIES, total))
        rows = np.searchsorted(ends, places, side="right")
        yield rows, (first[rows] + (places - (ends[rows] - copies[rows]))).astype(np.uint16)
