"""What tasks count in Beam's metrics, which the pages of Spark, Flink and Dataflow show. Advisory, as heartbeats are: a
task that is run twice is counted twice.

Each has the name of its step, which begins with the stage, and is in the namespace `winnow`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apache_beam.metrics.metric import Metrics

NAMESPACE: Final = "winnow"

ROWS: Final = "rows"
"""Rows that a task kept, or measured."""

READ: Final = "bytes_read"
WRITTEN: Final = "bytes_written"
PARTS: Final = "parts"
"""Tasks and partitions of a job that were finished."""

DROPPED: Final = "dropped"  # and a dot, and the reason
QUARANTINED: Final = "quarantined"
MILLISECONDS: Final = "milliseconds"
"""How long an operator took for a shard: a distribution, with a dot and the operator's layer."""


def _metrics() -> "type[Metrics]":
    """Beam's, loaded by those who count: much that can count reads layers only."""
    from apache_beam.metrics.metric import Metrics

    return Metrics


def count(name: str, by: int) -> None:
    """Add to a counter."""
    if by:
        _metrics().counter(NAMESPACE, name).inc(by)


def count_each(name: str, by: Mapping[str, int]) -> None:
    """Add to a counter for each reason."""
    for reason, number in by.items():
        count(f"{name}.{reason}", number)


def note_times(seconds: Mapping[str, float]) -> None:
    """Note how long operators took, by layer."""
    for layer, taken in seconds.items():
        _metrics().distribution(NAMESPACE, f"{MILLISECONDS}.{layer}").update(round(taken * 1000))
